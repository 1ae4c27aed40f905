import { closedError } from '../http/failure.ts'
import { delayAfterError } from '../http/schedule.ts'
import type { Clock } from '../runtime/clock.ts'
import { asKeyrailError, type KeyrailError, type PolicyScopeTooLargeError } from '../runtime/errors.ts'
import { pause } from '../runtime/pause.ts'
import { delayAfter } from './pace.ts'
import type { Sync } from './sync.ts'
import type { SyncResult } from './sync-deps.ts'

export interface PollerDeps {
  sync: Pick<Sync, 'poll' | 'lifeMs'>
  clock: Clock
  random: () => number
  pollIntervalMs: number
  /** Runs before the first poll. Resolves to true if keys can already be verified. */
  begin?: (() => Promise<boolean>) | undefined
  /** The error to report after every poll while records are dropped for lack of memory. */
  overflow: () => PolicyScopeTooLargeError | undefined
  onError: (error: KeyrailError) => void
  onSuccess: () => void
  /** Called after every successful poll. */
  onPolled?: (() => void) | undefined
}

/**
 * Polls until closed, and keeps the process alive. Before the first success an error that is not retryable stops it, so that
 * a wrong secret shows at startup. After that no error does, so that a running fleet survives a mistake.
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
    // For callers that never await `ready()`: `onError` reports the error, not an unhandled rejection.
    this.ready.catch(() => {})
    this.#running = this.#run()
  }

  /** Aborts the request in flight, and resolves when nothing runs any more. */
  async close(): Promise<void> {
    this.#closing.abort()
    this.#settle.reject(closedError())
    await this.#running
  }

  async #run(): Promise<void> {
    const { signal } = this.#closing
    const { pause: wait = pause } = this.#deps.clock
    if (await this.#deps.begin?.()) {
      // Polls at once: until the first answer, keys that were revoked while no process ran are still served.
      this.#isReady = true
      this.#settle.resolve()
    }
    while (!signal.aborted) {
      const delayMs = await this.#pollOnce(signal)
      if (delayMs === undefined) return
      await wait(delayMs, signal)
    }
  }

  /** @returns how long to wait before the next poll, or undefined to stop */
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
    // A walk may have taken longer than its keys are served, and only the next answer confirms them then.
    if (result.lifeMs > 0) {
      this.#isReady = true
      this.#settle.resolve()
    }
    this.#deps.onPolled?.()
    const unphased = !this.#hasPhase && !result.first && !result.waits
    if (unphased) this.#hasPhase = true
    const polled = { ...result, unphased, tookMs: clock.monotonic() - startedAt }
    return delayAfter(polled, pollIntervalMs, random)
  }

  #fail(error: KeyrailError): number | undefined {
    const { random, pollIntervalMs, sync } = this.#deps
    this.outcomes.error++
    this.#failures++
    this.lastError = error
    const isOver = !this.#isReady && !error.retryable
    const ending = this.#isReady ? '. Still trying' : '. Still trying, and ready() waits'
    // A detail of the service is a sentence.
    if (!isOver) error.message = error.message.replace(/\.$/, '') + ending
    this.#deps.onError(error)
    if (isOver) {
      this.#settle.reject(error)
      return undefined
    }
    return delayAfterError(
      { failures: this.#failures, retryAfterMs: error.retryAfterMs, lifeMs: sync.lifeMs },
      pollIntervalMs,
      random,
    )
  }
}
