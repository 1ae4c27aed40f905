import { randomUUID } from 'node:crypto'
import { type HttpRequest, parseMembers, readDate } from '../http/call.ts'
import type { UsageReport } from '../http/call-types.ts'
import {
  type ConnectionOptions,
  type ErrorOptions,
  readConnection,
  refuseUnknown,
} from '../http/connection-options.ts'
import { readFunction, readInteger } from '../http/option-values.ts'
import { delayAfterError } from '../http/schedule.ts'
import type { KeyrailErrorCode } from '../runtime/error-codes.ts'
import type { KeyrailError } from '../runtime/errors.ts'
import { Reports } from '../runtime/reports.ts'
import { ServiceTime } from '../runtime/service-time.ts'
import { systemTimer, type Timer } from '../runtime/timer.ts'
import type { Valid } from '../verify/verdict.ts'
import { beforeExit } from './at-exit.ts'
import { UsageCounts } from './counts.ts'
import { sampled } from './sampled.ts'
import { passedOver, unsent } from './uncounted.ts'

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
  lastError: KeyrailErrorCode | null
}

/** How a reporter ends. */
export interface UsageCloseOptions {
  /** How long the end may take, 0 to 600,000 ms. */
  timeoutMs?: number | undefined
}

/** Counts requests by key, and reports them; made by `createUsageReporter`. */
export interface UsageReporter extends AsyncDisposable {
  /** Counts a request, or several: in memory, at once. Never throws. */
  count(key: Pick<Valid, 'keyId'>, requests?: number): void
  /** Sends what was counted until now. Resolves when it is acknowledged, or when an attempt has failed. */
  flush(): Promise<void>
  /** What became of what it has counted. */
  stats(): UsageReporterStats
  /**
   * Sends what is left, three times where it must, and stops. Takes `timeoutMs` at most, 10,000 unless given; what was
   * not acknowledged by then is told to `onError` (`usage_unsent`). May be called twice.
   */
  close(options?: UsageCloseOptions): Promise<void>
}

const known: { readonly [Name in keyof Required<UsageReporterOptions>]: true } = {
  baseUrl: true,
  secretKey: true,
  insecure: true,
  sampleRate: true,
  flushIntervalMs: true,
  maxEntries: true,
  timeoutMs: true,
  fetch: true,
  onError: true,
}
export const usageReporterOptionNames = Object.keys(known)

const CLOSING_ATTEMPTS = 3
const CLOSING_MS = 10_000
const maxBytes = 16 * 1024

/**
 * Tells the service how often keys were used. A process that ends by itself sends what is left before; one that is ended
 * should `close()`.
 *
 * @throws TypeError naming the option that is missing or wrong
 */
export const createUsageReporter = (options: UsageReporterOptions = {}): UsageReporter =>
  openUsageReporter(options, {
    timer: systemTimer,
    random: Math.random,
    now: Date.now,
    monotonic: () => performance.now(),
    beforeExit,
  })

/** The same in a world of the caller's making. */
export function openUsageReporter(
  options: UsageReporterOptions,
  world: {
    timer: Timer
    random: () => number
    now: () => number
    monotonic?: () => number
    /** Calls the work when the process would end by itself. */
    beforeExit?: (work: () => void) => () => void
  },
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
  /** Ends what is under way when the time of the end is over. */
  let patience = new AbortController()
  let hasAsked = false
  let isClosed = false
  let reported = 0
  let refused = 0
  let failures = 0
  let retryAfterMs: number | undefined
  let lastError: KeyrailErrorCode | null = null

  /** With the first time that is told, what was counted by this machine's clock until then is set right. */
  const heard = ({ headers }: { headers: Headers }): void => {
    const isFirst = !time.isKnown
    time.heard(undefined, readDate(headers.get('date')))
    if (isFirst && time.isKnown) counts.moveBy(time.now() - now())
  }

  const ask = (request: HttpRequest) => call({ ...request, timeoutMs, maxBytes, signal: patience.signal })

  /** @returns how many of its records the service passed over */
  async function send(report: UsageReport): Promise<number> {
    const path = '/v1/usage/reports'
    const answer = await ask({ method: 'POST', path, body: report, accepts: [202] })
    heard(answer)
    const { ignored } = parseMembers(answer.text)
    return typeof ignored === 'number' ? ignored : 0
  }

  /** Before the first report, so that it names hours by the service's clock. Where nobody tells, this machine's counts. */
  async function learnTime(): Promise<void> {
    const path = '/v1/healthz'
    try {
      heard(await ask({ method: 'GET', path, accepts: [200, 404] }))
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
      const error = thrown as KeyrailError
      lastError = error.code
      retryAfterMs = error.retryAfterMs
      // Given up at the end: what is left then is told as a whole.
      if (error.code !== 'aborted') reports.error(error)
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
    new Promise<void>(resolve => {
      const cancelPause = timer.after(milliseconds, resolve, true)
      const end = () => {
        cancelPause()
        resolve()
      }
      patience.signal.addEventListener('abort', end, { once: true })
      if (patience.signal.aborted) end()
    })

  /** @param ended is told how many requests are left, before anything else can be counted */
  async function sendRest(withinMs: number, ended: (left: number) => void): Promise<void> {
    const cancelEnd = timer.after(withinMs, () => patience.abort(), true)
    // What was under way may have begun before the last request was counted.
    await flushing
    for (let attempts = 1; ; attempts++) {
      await flush()
      const left = pending()
      if (left === 0 || attempts === CLOSING_ATTEMPTS || patience.signal.aborted) {
        cancelEnd()
        patience = new AbortController()
        if (left > 0) reports.error(unsent(left))
        return ended(left)
      }
      await pause(delayAfterError({ failures }, 1_000, random))
    }
  }

  const pending = () => counts.total + (sending === undefined ? 0 : requestsIn(sending))
  const close = ({ timeoutMs: withinMs = CLOSING_MS }: UsageCloseOptions = {}) => {
    if (closing === undefined) {
      readInteger('timeoutMs', withinMs, 0, 600_000)
      cancel()
      forgetExit?.()
      closing = sendRest(withinMs, () => {
        isClosed = true
      })
    }
    return closing
  }

  let hasGivenUp = false
  const forgetExit = world.beforeExit?.(() => {
    // A process whose service is away ends all the same.
    if (hasGivenUp || pending() === 0) return
    void sendRest(CLOSING_MS, left => {
      hasGivenUp = left > 0
    })
  })

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
    [Symbol.asyncDispose]: () => close(),
  }
}

const requestsIn = ({ records }: UsageReport): number => records.reduce((sum, { count }) => sum + count, 0)
