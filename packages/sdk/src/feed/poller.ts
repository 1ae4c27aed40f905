import { closedError } from '../http/failure.ts'
import { delayAfter, delayAfterError, firstDelay } from '../http/schedule.ts'
import type { Clock } from '../runtime/clock.ts'
import { asKeyrailError, type KeyrailError, type PolicyScopeTooLargeError } from '../runtime/errors.ts'
import { pause } from '../runtime/pause.ts'
import type { Sync } from './sync.ts'
import type { SyncResult } from './sync-deps.ts'

export interface PollerDeps {
  sync: Pick<Sync, 'poll'>
  clock: Clock
  random: () => number
  pollIntervalMs: number
  /** What comes before the first poll. Says whether keys can be verified by now. */
  begin?: (() => Promise<boolean>) | undefined
  /** Set where records had to be dropped: a condition that lasts, and is told after every poll. */
  overflow: () => PolicyScopeTooLargeError | undefined
  onError: (error: KeyrailError) => void
  onSuccess: () => void
  /** After every poll that brought or confirmed something. */
  onPolled?: (() => void) | undefined
}

/**
 * Polls for as long as it is open, and keeps the process alive for as long. Before the first success an error that only a person can mend ends it, so that
 * a wrong secret shows when the process starts; after it nothing does, so that a fleet outlives a mistake.
 */
export class Poller {
  readonly outcomes = { snapshot: 0, delta: 0, unchanged: 0, error: 0 }
  lastError: KeyrailError | undefined
  readonly ready: Promise<void>
  #isReady = false
  #failures = 0
  #hasPhase = false
  readonly #deps: PollerDeps
  readonly #closing = new AbortController()
  readonly #running: Promise<void>
  #settle: { resolve: () => void; reject: (error: KeyrailError) => void } = { resolve() {}, reject() {} }

  constructor(deps: PollerDeps) {
    this.#deps = deps
    this.ready = new Promise((resolve, reject) => {
      this.#settle = { resolve, reject }
    })
    // Whoever never asks whether it is ready is told by `onError`, not by an unhandled rejection.
    this.ready.catch(() => {})
    this.#running = this.#run()
  }

  /** Ends the request in flight and waits until nothing runs any more. */
  async close(): Promise<void> {
    this.#closing.abort()
    this.#settle.reject(closedError())
    await this.#running
  }

  async #run(): Promise<void> {
    const { signal } = this.#closing
    if (await this.#deps.begin?.()) {
      this.#isReady = true
      this.#hasPhase = true
      this.#settle.resolve()
      await pause(firstDelay(this.#deps.pollIntervalMs, this.#deps.random), signal)
    }
    while (!signal.aborted) {
      const delayMs = await this.#pollOnce(signal)
      if (delayMs === undefined) return
      await pause(delayMs, signal)
    }
  }

  /** @returns how long to wait before the next, or undefined where there is to be none */
  async #pollOnce(signal: AbortSignal): Promise<number | undefined> {
    const { clock, sync, random, pollIntervalMs } = this.#deps
    const startedAt = clock.monotonic()
    let result: SyncResult
    try {
      result = await sync.poll(signal)
    } catch (error) {
      return signal.aborted ? undefined : this.#fail(asKeyrailError(error))
    }
    this.outcomes[result.outcome]++
    this.#failures = 0
    this.lastError = this.#deps.overflow()
    if (this.lastError) this.#deps.onError(this.lastError)
    else this.#deps.onSuccess()
    this.#isReady = true
    this.#settle.resolve()
    this.#deps.onPolled?.()
    const unphased = !this.#hasPhase && !result.first && !result.waits
    if (unphased) this.#hasPhase = true
    const polled = { ...result, unphased, tookMs: clock.monotonic() - startedAt }
    return delayAfter(polled, pollIntervalMs, random)
  }

  #fail(error: KeyrailError): number | undefined {
    const { random, pollIntervalMs } = this.#deps
    this.outcomes.error++
    this.#failures++
    this.lastError = error
    const isOver = !this.#isReady && !error.retryable
    if (!isOver) error.message += this.#isReady ? '. Still trying' : '. Still trying, and ready() waits'
    this.#deps.onError(error)
    if (isOver) {
      this.#settle.reject(error)
      return undefined
    }
    return delayAfterError(
      { failures: this.#failures, retryAfterMs: error.retryAfterMs },
      pollIntervalMs,
      random,
    )
  }
}
