/**
 * Counts requests by key (`counts.ts`), and sends the counts (`counts-sender.ts`) and then the refusals of keyrings
 * (`refusal-reports.ts`): at intervals, and at the end of the reporter or the process.
 */

import { readConnection, readReports, refuseUnknown } from '../http/connection-options.ts'
import { readInteger } from '../http/option-values.ts'
import { delayAfterError } from '../http/schedule.ts'
import type { KeyrailErrorCode } from '../runtime/error-codes.ts'
import type { Reports } from '../runtime/reports.ts'
import { ServiceTime } from '../runtime/service-time.ts'
import { systemTimer, type Timer } from '../runtime/timer.ts'
import type { Valid } from '../verify/verdict.ts'
import { beforeExit } from './at-exit.ts'
import { UsageCounts } from './counts.ts'
import { type Ask, CountsSender } from './counts-sender.ts'
import { RefusalReports, sentBy } from './refusal-reports.ts'
import { type UsageReporterOptions, usageReporterNames } from './reporter-options.ts'
import { readSampleRate, sampled } from './sampled.ts'
import { unsent } from './uncounted.ts'

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

interface World {
  timer: Timer
  random: () => number
  now: () => number
  monotonic?: () => number
  /** Calls the work when the process would end by itself. */
  beforeExit?: (work: () => void) => () => void
  reports?: Reports
}

/** `createUsageReporter` with the caller's own timers, clock and randomness. */
export function openUsageReporter(options: UsageReporterOptions, world: World): UsageReporter {
  refuseUnknown('createUsageReporter', options, usageReporterNames)
  const refusals = new RefusalReports()
  return sentBy(new Reporter(options, world, refusals), refusals)
}

class Reporter implements UsageReporter {
  readonly #world: World
  readonly #refusals: RefusalReports
  readonly #time: ServiceTime
  readonly #reports: Reports
  readonly #counts: UsageCounts
  readonly #sender: CountsSender
  readonly #sampleRate: number
  readonly #flushIntervalMs: number
  readonly #ask: Ask
  readonly #forgetExit: (() => void) | undefined
  #cancelFlush: () => void
  #flushing: Promise<void> | undefined
  #closing: Promise<void> | undefined
  /** Aborts the calls in flight when the time limit of the end is reached. */
  #ending = new AbortController()
  #isClosed = false
  #hasGivenUp = false

  constructor(options: UsageReporterOptions, world: World, refusals: RefusalReports) {
    const { random, now, monotonic = now } = world
    this.#world = world
    this.#refusals = refusals
    this.#time = new ServiceTime({ wall: now, monotonic })
    const call = readConnection(options)
    this.#sampleRate = readSampleRate(options.sampleRate)
    this.#flushIntervalMs = readInteger('flushIntervalMs', options.flushIntervalMs ?? 10_000, 100, 3_600_000)
    const maxEntries = readInteger('maxEntries', options.maxEntries ?? 100_000, 1, 10_000_000)
    this.#counts = new UsageCounts(maxEntries)
    const timeoutMs = readInteger('timeoutMs', options.timeoutMs ?? 10_000, 1, 60_000)
    this.#reports = world.reports ?? readReports(options)
    this.#ask = request => call({ ...request, timeoutMs, maxBytes, signal: this.#ending.signal })
    this.#sender = new CountsSender({
      ask: this.#ask,
      counts: this.#counts,
      sampleRate: this.#sampleRate,
      time: this.#time,
      now,
      reports: this.#reports,
    })
    // At random, so that nodes that start together do not report together.
    this.#cancelFlush = this.#flushAfter(this.#flushIntervalMs * (0.5 + 0.5 * random()))
    this.#forgetExit = world.beforeExit?.(() => this.#sendBeforeExit())
  }

  // Functions, not methods: a caller may take one alone, as in `process.once('SIGTERM', usage.close)`.
  readonly count = (key: Pick<Valid, 'keyId'>, requests = 1): void => {
    if (!Number.isSafeInteger(requests) || requests < 1) return
    const rate = this.#sampleRate
    const counted = rate === 1 ? requests : sampled(requests, rate, this.#world.random)
    if (counted === 0) return
    if (this.#isClosed) this.#counts.dropped += counted
    else this.#counts.add(key?.keyId, counted, this.#time.now())
  }

  readonly flush = (): Promise<void> => {
    this.#flushing ??= this.#sendAll().finally(() => {
      this.#flushing = undefined
    })
    return this.#flushing
  }

  readonly stats = (): UsageReporterStats => {
    const { pending, reported, refused, lastError } = this.#sender
    return { pending, reported, dropped: this.#counts.dropped + refused, lastError }
  }

  readonly close = ({ timeoutMs = CLOSING_MS }: UsageCloseOptions = {}): Promise<void> => {
    if (this.#closing === undefined) {
      readInteger('timeoutMs', timeoutMs, 0, 600_000)
      this.#cancelFlush()
      this.#forgetExit?.()
      this.#closing = this.#sendRest(timeoutMs, () => {
        this.#isClosed = true
      })
    }
    return this.#closing
  }

  readonly [Symbol.asyncDispose] = (): Promise<void> => this.close()

  /** After a failure sooner and at random, so that a fleet does not report all at once when the service returns. */
  #flushAfter(delay: number): () => void {
    return this.#world.timer.after(delay, () => {
      void this.flush().then(() => {
        if (this.#closing !== undefined) return
        const interval = this.#flushIntervalMs
        const hasFailed = this.#sender.failures > 0
        const next = hasFailed ? delayAfterError(this.#sender, interval, this.#world.random) : interval
        this.#cancelFlush = this.#flushAfter(next)
      })
    })
  }

  async #sendAll(): Promise<void> {
    await this.#sender.send()
    if (this.#sender.failures === 0) await this.#refusals.send(this.#ask)
  }

  /** A process ends even if the service is away. */
  #sendBeforeExit(): void {
    if (this.#hasGivenUp || this.#sender.pending + this.#refusals.size === 0) return
    void this.#sendRest(CLOSING_MS, left => {
      this.#hasGivenUp = left + this.#refusals.size > 0
    })
  }

  /** @param ended receives how many requests are left, before any other request can be counted */
  async #sendRest(withinMs: number, ended: (left: number) => void): Promise<void> {
    const cancelEnd = this.#world.timer.after(withinMs, () => this.#ending.abort(), true)
    // The flush in flight may have begun before the last request was counted.
    await this.#flushing
    for (let attempts = 1; ; attempts++) {
      await this.flush()
      const left = this.#sender.pending
      if (left === 0 || attempts === CLOSING_ATTEMPTS || this.#ending.signal.aborted) {
        cancelEnd()
        this.#ending = new AbortController()
        if (left > 0) this.#reports.error(unsent(left))
        return ended(left)
      }
      await this.#pause(delayAfterError({ failures: this.#sender.failures }, 1_000, this.#world.random))
    }
  }

  /** Ends early when the time limit of the end is reached. */
  #pause(milliseconds: number): Promise<void> {
    const { signal } = this.#ending
    return new Promise(resolve => {
      const cancel = this.#world.timer.after(milliseconds, resolve, true)
      const end = () => {
        cancel()
        resolve()
      }
      signal.addEventListener('abort', end, { once: true })
      if (signal.aborted) end()
    })
  }
}
