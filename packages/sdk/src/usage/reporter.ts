/** Sends what `counts.ts` has added up by key, and then what `refusal-reports.ts` has. */

import { randomUUID } from 'node:crypto'
import { type HttpRequest, readDate } from '../http/call.ts'
import type { UsageReport } from '../http/call-types.ts'
import { readConnection, readReports, refuseUnknown } from '../http/connection-options.ts'
import { parseMembers } from '../http/json.ts'
import { explainLacking } from '../http/lacking.ts'
import { readInteger } from '../http/option-values.ts'
import { delayAfterError } from '../http/schedule.ts'
import type { KeyrailErrorCode } from '../runtime/error-codes.ts'
import type { KeyrailError } from '../runtime/errors.ts'
import type { Reports } from '../runtime/reports.ts'
import { ServiceTime } from '../runtime/service-time.ts'
import { systemTimer, type Timer } from '../runtime/timer.ts'
import type { Valid } from '../verify/verdict.ts'
import { beforeExit } from './at-exit.ts'
import { requestsIn, UsageCounts } from './counts.ts'
import { RefusalReports, sentBy } from './refusal-reports.ts'
import { type UsageReporterOptions, usageReporterNames } from './reporter-options.ts'
import { readSampleRate, sampled } from './sampled.ts'
import { passedOver, unsent } from './uncounted.ts'

/** The counters of a reporter, for logs and metrics. Holds no secret. */
export interface UsageReporterStats {
  /** Counted requests that are not yet acknowledged. */
  pending: number
  /** Counted requests that were acknowledged. */
  reported: number
  /** Counted requests that will not be reported: over the bound, too old, invalid id, counted after the end, or ignored. */
  dropped: number
  /** The error code of the last report; null if it succeeded. */
  lastError: KeyrailErrorCode | null
}

/** Options of `close`. */
export interface UsageCloseOptions {
  /** Time limit in ms, 0 to 600,000. Default: 10,000. */
  timeoutMs?: number | undefined
}

/** Counts requests by key and reports them; made by `createUsageReporter`. */
export interface UsageReporter extends AsyncDisposable {
  /** Counts one or more requests in memory. Never throws. */
  count(key: Pick<Valid, 'keyId'>, requests?: number): void
  /** Sends the counts. Resolves when they are acknowledged, or when an attempt has failed. */
  flush(): Promise<void>
  /** The current counters. */
  stats(): UsageReporterStats
  /**
   * Sends the remaining counts, in up to three attempts within `timeoutMs`, and stops. Reports counts that were not
   * acknowledged to `onError` (`usage_unsent`). May be called twice.
   */
  close(options?: UsageCloseOptions): Promise<void>
}

const CLOSING_ATTEMPTS = 3
const CLOSING_MS = 10_000
const maxBytes = 16 * 1024

/**
 * Reports to the service how often keys were used. A process that ends by itself sends the remaining counts first; otherwise
 * call `close()`.
 *
 * @throws TypeError naming a missing or wrong option
 */
export const createUsageReporter = (options: UsageReporterOptions = {}): UsageReporter =>
  openUsageReporter(options, usageWorld)

export const usageWorld = {
  timer: systemTimer,
  random: Math.random,
  now: Date.now,
  monotonic: () => performance.now(),
  beforeExit,
}

/** `createUsageReporter` with the caller's own timers, clock and randomness. */
export function openUsageReporter(
  options: UsageReporterOptions,
  world: {
    timer: Timer
    random: () => number
    now: () => number
    monotonic?: () => number
    /** Calls the work when the process would end by itself. */
    beforeExit?: (work: () => void) => () => void
    reports?: Reports
  },
): UsageReporter {
  refuseUnknown('createUsageReporter', options, usageReporterNames)
  const { timer, random, now, monotonic = now } = world
  const time = new ServiceTime({ wall: now, monotonic })
  const call = readConnection(options)
  const sampleRate = readSampleRate(options.sampleRate)
  const flushIntervalMs = readInteger('flushIntervalMs', options.flushIntervalMs ?? 10_000, 100, 3_600_000)
  const counts = new UsageCounts(readInteger('maxEntries', options.maxEntries ?? 100_000, 1, 10_000_000))
  const timeoutMs = readInteger('timeoutMs', options.timeoutMs ?? 10_000, 1, 60_000)
  const reports = world.reports ?? readReports(options)
  const refusals = new RefusalReports()

  /** The report in flight. Its id and records stay the same until it is acknowledged. */
  let sending: UsageReport | undefined
  let flushing: Promise<void> | undefined
  let closing: Promise<void> | undefined
  /** Aborts the calls in flight when the time limit of the end is reached. */
  let patience = new AbortController()
  let hasAsked = false
  let isClosed = false
  let reported = 0
  let refused = 0
  let failures = 0
  let retryAfterMs: number | undefined
  let lastError: KeyrailErrorCode | null = null

  /** The first answer with a time corrects what was counted by this machine's clock until then. */
  const learn = ({ headers }: { headers: Headers }): void => {
    const isFirst = !time.isKnown
    const date = readDate(headers.get('date'))
    if (date !== undefined) time.observe(date)
    if (isFirst && time.isKnown) counts.moveBy(time.now() - now())
  }

  const ask = (request: HttpRequest) => call({ ...request, timeoutMs, maxBytes, signal: patience.signal })

  /** @returns how many of its records the service ignored */
  async function send(report: UsageReport): Promise<number> {
    const path = '/v1/usage/reports'
    const answer = await ask({ method: 'POST', path, body: report, accepts: [202] })
    learn(answer)
    const { ignored } = parseMembers(answer.text)
    return typeof ignored === 'number' ? ignored : 0
  }

  /** Runs before the first report, so that it names hours by the service's clock. Without an answer, this machine's counts. */
  async function learnTime(): Promise<void> {
    const path = '/v1/healthz'
    try {
      learn(await ask({ method: 'GET', path, accepts: [200, 404] }))
      hasAsked = true
    } catch {
      // The report will meet and report the same error.
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
      // Aborted by the end, which reports all that is left at once.
      if (error.code !== 'aborted') reports.error(explainLacking(error, 'usage'))
      // A report that is invalid in itself would block all later ones forever.
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
    flushing ??= sendAll()
      .then(() => (failures === 0 ? refusals.send(ask) : undefined))
      .finally(() => {
        flushing = undefined
      })
    return flushing
  }

  /** After a failure sooner and at random, so that a fleet does not report all at once when the service returns. */
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
  // At random, so that nodes that start together do not report together.
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

  /** @param ended receives how many requests are left, before anything else can be counted */
  async function sendRest(withinMs: number, ended: (left: number) => void): Promise<void> {
    const cancelEnd = timer.after(withinMs, () => patience.abort(), true)
    // The flush in flight may have begun before the last request was counted.
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
    // A process ends even if the service is away.
    if (hasGivenUp || pending() + refusals.size === 0) return
    void sendRest(CLOSING_MS, left => {
      hasGivenUp = left + refusals.size > 0
    })
  })

  const reporter: UsageReporter = {
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
  return sentBy(reporter, refusals)
}
