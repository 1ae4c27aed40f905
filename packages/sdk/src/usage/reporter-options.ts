import { type ConnectionOptions, connectionNames, type ErrorOptions } from '../http/connection-options.ts'

/** Options of `createUsageReporter`. */
export interface UsageReporterOptions extends ConnectionOptions, ErrorOptions {
  /** The share of requests that is counted, 0.0001 to 1. Default: 1. */
  sampleRate?: number | undefined
  /** How often counts are sent, in ms. Default: 10,000. */
  flushIntervalMs?: number | undefined
  /** The most pairs of key and hour that wait to be sent. Default: 100,000. */
  maxEntries?: number | undefined
  /** Time limit of a report in ms. Default: 10,000. */
  timeoutMs?: number | undefined
}

export const usageReporterNames: { readonly [Name in keyof Required<UsageReporterOptions>]: true } = {
  ...connectionNames,
  sampleRate: true,
  flushIntervalMs: true,
  maxEntries: true,
  timeoutMs: true,
  onError: true,
}
export const usageReporterOptionNames = Object.keys(usageReporterNames)
