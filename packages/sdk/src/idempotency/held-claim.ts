import { delayAfterError } from '../http/schedule.ts'
import { toBase64 } from '../runtime/bytes.ts'
import type { KeyrailError } from '../runtime/errors.ts'
import type { Timer } from '../runtime/timer.ts'
import type { IdempotencyClient } from './client.ts'
import { isOutcome } from './outcome.ts'
import { plainBody } from './plain-body.ts'
import { type AnswerHeaders, storedHeaders } from './stored-answer.ts'

/** A third of the lifetime of a lock, so that two heartbeats may fail. */
const HEARTBEAT_MS = 10_000
/** The lifetime of a lock: as if the process had died during the answer. */
export const LEFT_MS = 30_000
/** The longest pause between two attempts to report the end. */
const ATTEMPT_GAP_MS = 5_000

export interface ClaimKeeping {
  client: IdempotencyClient
  timer: Timer
  random: () => number
  /** How long a handler may run before the claim is given up, in ms. */
  maxRunMs: number
  ttlMs: number | undefined
  /** The largest body that is kept. */
  maxBodyBytes: number
  /** Headers that are stored with those of the answer. */
  marks: readonly [name: string, value: string][]
  onError(error: KeyrailError): void
  onSuccess(): void
}

/** The record, and proof that this process holds it. */
export interface Held {
  scope_hash: string
  env: 'live' | 'test'
  lock_token: string
}

/**
 * A request that this process is to execute. Heartbeats keep the claim until its end is reported. If that fails, it is
 * reported again in the background while heartbeats continue, so that no other process executes the request meanwhile.
 */
export interface HeldClaim {
  /** Aborted when this process loses the claim: another may execute the request now. */
  readonly taken: AbortSignal
  /** Resolves when the end was reported, or given up. */
  readonly settled: Promise<void>
  /**
   * Reports the answer. Only an outcome is kept: 2xx, 3xx, and 4xx but 408, 425 and 429, without `Retry-After`. After any other
   * answer a retry executes. Resolves when it is reported, or when one attempt has failed and the next ones run in the
   * background. Send the answer to the customer in both cases.
   *
   * @param body null if it is too large to keep, or streams; it is not replayed then
   */
  answered(status: number, headers: AnswerHeaders, body: Uint8Array | null): Promise<void>
  /** Frees the record, so that a retry executes. */
  release(): Promise<void>
  /**
   * Reports that the client went away during the answer. Most handlers still finish it. If this one does not within 30 s,
   * the record is freed.
   */
  leave(): void
}

export class KeptClaim implements HeldClaim {
  readonly #held: Held
  readonly #keeping: ClaimKeeping
  readonly #taken = new AbortController()
  /** How many heartbeats are left. */
  #beats: number
  #cancelBeat: () => void
  #cancelLeave: () => void = () => {}
  #ended = false
  #settle: () => void = () => {}
  readonly settled = new Promise<void>(resolve => {
    this.#settle = resolve
  })

  constructor(held: Held, keeping: ClaimKeeping) {
    this.#held = held
    this.#keeping = keeping
    this.#beats = Math.ceil(keeping.maxRunMs / HEARTBEAT_MS)
    this.#cancelBeat = this.#scheduleBeat()
  }

  get taken(): AbortSignal {
    return this.#taken.signal
  }

  answered(status: number, headers: AnswerHeaders, body: Uint8Array | null): Promise<void> {
    const given = [...headers]
    if (!isOutcome(status, given)) return this.release()
    const { client, ttlMs, marks, maxBodyBytes } = this.#keeping
    const stored = storedHeaders([...given, ...marks])
    const { 'content-encoding': encoding = '', ...kept } = stored ?? {}
    return this.#end(async () => {
      const plain =
        body === null || stored === undefined ? undefined : await plainBody(body, encoding, maxBodyBytes)
      return client.complete({
        ...this.#held,
        status,
        headers: kept,
        body: plain === undefined ? null : toBase64(plain),
        ...(ttlMs !== undefined && { ttl_ms: ttlMs }),
      })
    })
  }

  release(): Promise<void> {
    return this.#end(() => this.#keeping.client.release(this.#held))
  }

  leave(): void {
    this.#cancelLeave = this.#keeping.timer.after(LEFT_MS, () => void this.release())
  }

  /** Whether the handler has ended. */
  get ended(): boolean {
    return this.#ended
  }

  /** Only the first end counts. */
  async #end(say: () => Promise<string>): Promise<void> {
    if (this.#ended) return
    this.#ended = true
    this.#cancelLeave()
    const finish = () => {
      this.#cancelBeat()
      this.#settle()
    }
    if (await this.#attempt(say)) finish()
    else void this.#goOn(say).then(finish)
  }

  async #goOn(say: () => Promise<string>): Promise<void> {
    const { timer, random } = this.#keeping
    // While heartbeats keep the claim, and no other process has taken it.
    for (let failures = 1; this.#beats > 0 && !this.taken.aborted; failures++) {
      const delay = delayAfterError({ failures }, ATTEMPT_GAP_MS, random)
      await new Promise<void>(resolve => timer.after(delay, resolve))
      if (await this.#attempt(say)) return
    }
  }

  async #attempt(say: () => Promise<string>): Promise<boolean> {
    try {
      if ((await say()) === 'lost') this.#taken.abort()
      this.#keeping.onSuccess()
      return true
    } catch (error) {
      this.#keeping.onError(error as KeyrailError)
      // An error that is not retryable would be the same again.
      return !(error as KeyrailError).retryable
    }
  }

  #scheduleBeat(): () => void {
    return this.#keeping.timer.after(HEARTBEAT_MS, () => void this.#beat())
  }

  async #beat(): Promise<void> {
    const { client, onError } = this.#keeping
    let stopped = false
    this.#cancelBeat = () => {
      stopped = true
    }
    try {
      if ((await client.heartbeat(this.#held)) === 'lost') this.#taken.abort()
    } catch (error) {
      onError(error as KeyrailError)
    }
    this.#beats--
    if (stopped) return
    if (this.#beats > 0 && !this.taken.aborted) this.#cancelBeat = this.#scheduleBeat()
    // The handler has exceeded its time: nothing more is kept for it, so nothing waits for it.
    else if (!this.#ended) this.#settle()
  }
}
