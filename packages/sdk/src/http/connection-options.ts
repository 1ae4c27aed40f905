import type { KeyrailError } from '../runtime/errors.ts'
import { Reports } from '../runtime/reports.ts'
import { createHttpCaller, type HttpCaller, type HttpCallerOptions } from './call.ts'
import { readFunction, readUrl } from './option-values.ts'
import { rightName, wrongName } from './right-name.ts'
import { readSecretKey, type SecretKeySource } from './secret-key.ts'

/** How to reach the service. */
export interface ConnectionOptions {
  /** Address of the Keyrail service, such as `https://keys.example.com`. Default: `KEYRAIL_URL`. */
  url?: string | URL | undefined
  /**
   * A secret key (`krsk_…`), or a function that returns one or a promise of one. The function is called before every call, so
   * that the key can rotate. Sent only to the service. Default: `KEYRAIL_SECRET_KEY`.
   */
  secretKey?: SecretKeySource | undefined
  /** Allows `http` to other machines, where anyone on the network can read the secret key. Default: false. */
  insecure?: boolean | undefined
  /** Sends the calls. Default: `node:http` on Node, and the global `fetch` elsewhere. */
  fetch?: typeof globalThis.fetch | undefined
}

/** The names of these options, for the list of every maker. */
export const connectionNames: { readonly [Name in keyof Required<ConnectionOptions>]: true } = {
  url: true,
  secretKey: true,
  insecure: true,
  fetch: true,
}

/** Reporting of errors outside a request. */
export interface ErrorOptions {
  /**
   * Receives every failed call; a missing permission only once until a call succeeds. Without it, the first failure of each
   * code becomes a process warning.
   */
  onError?: ((error: KeyrailError) => void) | undefined
}

/** Reports errors to `onError`, or as warnings. */
export const readReports = ({ onError }: ErrorOptions): Reports =>
  new Reports({ onError: readFunction('onError', onError), onNotice: undefined })

/**
 * What happens to a request if the service is unavailable: it passes, or is refused with 503. If the service refuses the
 * call, as for a revoked secret key, the request is always refused.
 */
export type OnUnavailable = 'allow' | 'deny'

/** @throws TypeError naming the wrong option; it never shows the secret key */
export const readConnection = (options: ConnectionOptions): HttpCaller =>
  createHttpCaller(readConnectionParts(options))

/** @throws as `readConnection` does */
export function readConnectionParts(options: ConnectionOptions): HttpCallerOptions {
  const secretKey = readSecretKey(options.secretKey)
  const fetch = readFunction('fetch', options.fetch)
  return { url: readUrl(options.url, options.insecure), secretKey, fetch }
}

/** Rejects unknown options, so that a misspelt one does not silently become the default. */
export function refuseUnknown(maker: string, options: object, known: Readonly<Record<string, true>>): void {
  if (typeof options !== 'object' || options === null) {
    throw new TypeError(`${maker} takes an object of options`)
  }
  const unknown = Object.keys(options).find(name => !Object.hasOwn(known, name))
  if (unknown !== undefined) throw wrongName(maker, 'option', unknown, rightName(unknown, known))
}

export function readOnUnavailable(value: unknown): OnUnavailable {
  if (value !== 'allow' && value !== 'deny') throw new TypeError('onUnavailable must be allow or deny')
  return value
}
