import { randomUUID } from 'node:crypto'
import { parseMembers, readDate } from '../http/call.ts'
import type { UsageReport } from '../http/call-types.ts'
import {
  type ConnectionOptions,
  type ErrorOptions,
  readConnection,
  refuseUnknown,
} from '../http/connection-options.ts'
import { readFunction, readInteger } from '../http/option-values.ts'
import { delayAfterError } from '../http/schedule.ts'
import { KeyringError } from '../runtime/errors.ts'
import { Reports } from '../runtime/reports.ts'
import { ServiceTime } from '../runtime/service-time.ts'
import { systemTimer, type Timer } from '../runtime/timer.ts'
import type { Valid } from '../verify/verdict.ts'
import { UsageCounts } from './counts.ts'

export interface UsageReporterOptions extends ConnectionOptions, ErrorOptions {
  /** The part of all requests that is counted, 0.0001 to 1; all of them unless given. */
  sampleRate?: number | undefined
  /** How often counts are sent, 10,000 ms unless given. */
  flushIntervalMs?: number | undefined
  /** How many pairs of key and hour wait to be sent at most, 100,000 unless given. */
  maxEntries?: number | undefined
  /** How long a report may take, 10,000 ms unless given. */
  timeoutMs?: number | undefined
}

/** What a reporter has counted, for logs and metrics. Nothing in it is secret. */
export interface UsageReporterStats {
  /** Requests that were counted and are not acknowledged yet. */
  pending: number
  /** Requests that were counted and acknowledged. */
  reported: number
  /** Requests that were counted and will not be told: no room, too old, no key, after the end, or refused. */
  dropped: number
  /** Code of the error of the last report; null where it went well. */
  lastError: string | null
}

/** Counts requests by key, and reports them; made by `createUsageReporter`. */
export interface UsageReporter extends AsyncDisposable {
  /** Counts a request, or several: in memory, at once. Never throws. */
  count(key: Pick<Valid, 'keyId'>, requests?: number): void
  /** Sends what was counted until now. Resolves when it is acknowledged, or when an attempt has failed. */
  flush(): Promise<void>
  /** What became of what it has counted. */
  stats(): UsageReporterStats
  /** Sends what is left, three times where it must, and stops. May be called twice. */
  close(): Promise<void>
}

const known: { readonly [Name in keyof Required<UsageReporterOptions>]: true } = {
  baseUrl: true,
  secretKey: true,
  sampleRate: true,
  flushIntervalMs: true,
  maxEntries: true,
  timeoutMs: true,
  fetch: true,
  onError: true,
}
export const usageReporterOptionNames = Object.keys(known)

const CLOSING_ATTEMPTS = 3
const maxBytes = 16 * 1024

/**
 * Tells the service how often keys were used.
 *
 * @throws TypeError naming the option that is missing or wrong
 */
export const createUsageReporter = (options: UsageReporterOptions): UsageReporter =>
  openUsageReporter(options, {
    timer: systemTimer,
    random: Math.random,
    now: Date.now,
    monotonic: () => performance.now(),
  })

/** The same in a world of the caller's making. */
export function openUsageReporter(
  options: UsageReporterOptions,
  world: { timer: Timer; random: () => number; now: () => number; monotonic?: () => number },
): UsageReporter {
  refuseUnknown('createUsageReporter', options, known)
  const { timer, random, now, monotonic = now } = world
  const time = new ServiceTime({ wall: now, monotonic })
  const call = readConnection(options)
  const { sampleRate = 1 } = options
  if (typeof sampleRate !== 'number' || !(sampleRate >= 0.0001 && sampleRate <= 1)) {
    throw new TypeError('sampleRate must be a number from 0.0001 to 1')
  }
  const flushIntervalMs = readInteger('flushIntervalMs', options.flushIntervalMs ?? 10_000, 100, 3_600_000)
  const counts = new UsageCounts(readInteger('maxEntries', options.maxEntries ?? 100_000, 1, 10_000_000))
  const timeoutMs = readInteger('timeoutMs', options.timeoutMs ?? 10_000, 1, 60_000)
  const reports = new Reports({ onError: readFunction('onError', options.onError), onNotice: undefined })

  /** What is being sent: its id and its records stay the same until it is acknowledged. */
  let sending: UsageReport | undefined
  let flushing: Promise<void> | undefined
  let closing: Promise<void> | undefined
  let hasAsked = false
  let isClosed = false
  let reported = 0
  let refused = 0
  let failures = 0
  let retryAfterMs: number | undefined
  let lastError: string | null = null

  /** With the first time that is told, what was counted by this machine's clock until then is set right. */
  const heard = ({ headers }: { headers: Headers }): void => {
    const isFirst = !time.isKnown
    time.heard(undefined, readDate(headers.get('date')))
    if (isFirst && time.isKnown) counts.moveBy(time.now() - now())
  }

  /** @returns how many of its records the service passed over */
  async function send(report: UsageReport): Promise<number> {
    const path = '/v1/usage/reports'
    const answer = await call({ method: 'POST', path, body: report, accepts: [202], timeoutMs, maxBytes })
    heard(answer)
    const { ignored } = parseMembers(answer.text)
    return typeof ignored === 'number' ? ignored : 0
  }

  /** Before the first report, so that it names hours by the service's clock. Where nobody tells, this machine's counts. */
  async function learnTime(): Promise<void> {
    const path = '/v1/healthz'
    try {
      heard(await call({ method: 'GET', path, accepts: [200, 404], timeoutMs, maxBytes }))
      hasAsked = true
    } catch {
      // What is wrong with the service is told of the report.
    }
  }

  /** @returns whether the next report may be sent */
  async function attempt(report: UsageReport): Promise<boolean> {
    try {
      const ignored = await send(report)
      const { length } = report.records
      if (ignored < length) reported += requestsIn(report)
      else refused += requestsIn(report)
      sending = undefined
      failures = 0
      lastError = ignored > 0 ? 'usage_ignored' : null
      if (ignored > 0) reports.error(passedOver(ignored, length))
      else reports.success()
      return true
    } catch (thrown) {
      const error = thrown as KeyringError
      lastError = error.code
      retryAfterMs = error.retryAfterMs
      reports.error(error)
      // A report that is wrong in itself would be in the way of all others for ever.
      if (error.status === 400 || error.status === 413) {
        refused += requestsIn(report)
        sending = undefined
        return true
      }
      failures++
      return false
    }
  }

  async function sendAll(): Promise<void> {
    for (;;) {
      if (sending === undefined) {
        if (counts.size > 0 && !hasAsked && !time.isKnown) await learnTime()
        const records = counts.take(time.now())
        if (records.length === 0) return
        sending = { report_id: randomUUID(), sample_rate: sampleRate, records }
      }
      if (!(await attempt(sending))) return
    }
  }

  const flush = (): Promise<void> => {
    flushing ??= sendAll().finally(() => {
      flushing = undefined
    })
    return flushing
  }

  /** After a failure sooner and at random, so that a service that comes back is not met by a whole fleet at once. */
  const schedule = (delay: number): (() => void) =>
    timer.after(delay, () => {
      void flush().then(() => {
        if (closing !== undefined) return
        cancel = schedule(
          failures === 0
            ? flushIntervalMs
            : delayAfterError({ failures, retryAfterMs }, flushIntervalMs, random),
        )
      })
    })
  // Nodes that start together do not report together.
  let cancel = schedule(flushIntervalMs * (0.5 + 0.5 * random()))

  const pause = (milliseconds: number) =>
    new Promise<void>(resolve => timer.after(milliseconds, resolve, true))

  async function sendRest(): Promise<void> {
    cancel()
    // What was under way may have begun before the last request was counted.
    await flushing
    for (let attempts = 1; attempts <= CLOSING_ATTEMPTS; attempts++) {
      await flush()
      const left = pending()
      isClosed = left === 0 || attempts === CLOSING_ATTEMPTS
      if (left === 0) return
      if (isClosed) reports.error(unsent(left))
      else await pause(delayAfterError({ failures }, 1_000, random))
    }
  }

  const pending = () => counts.total + (sending === undefined ? 0 : requestsIn(sending))
  const close = () => {
    closing ??= sendRest()
    return closing
  }

  return {
    count(key, requests = 1) {
      if (!Number.isSafeInteger(requests) || requests < 1) return
      const counted = sampleRate === 1 ? requests : sampled(requests, sampleRate, random)
      if (counted === 0) return
      if (isClosed) counts.dropped += counted
      else counts.add(key?.keyId, counted, time.now())
    },
    flush,
    stats: () => ({ pending: pending(), reported, dropped: counts.dropped + refused, lastError }),
    close,
    [Symbol.asyncDispose]: close,
  }
}

/** Beyond this many at once what chance would do differs by little from the mean. */
const DRAWN_MAX = 10_000

function sampled(requests: number, rate: number, random: () => number): number {
  if (requests > DRAWN_MAX) return Math.floor(requests * rate + random())
  let counted = 0
  for (let request = 0; request < requests; request++) if (random() < rate) counted++
  return counted
}

const requestsIn = ({ records }: UsageReport): number => records.reduce((sum, { count }) => sum + count, 0)

const passedOver = (ignored: number, records: number): KeyringError =>
  new KeyringError(
    'usage_ignored',
    `${ignored} of ${records} records of a usage report were not counted: of no key of this environment, or of no hour that is taken`,
    { retryable: false },
  )

const unsent = (requests: number): KeyringError =>
  new KeyringError('usage_unsent', `${requests} counted requests were not reported before the end`, {
    retryable: false,
  })
