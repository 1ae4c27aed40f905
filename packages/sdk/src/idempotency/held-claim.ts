import { delayAfterError } from '../http/schedule.ts'
import { toBase64 } from '../runtime/bytes.ts'
import type { KeyrailError } from '../runtime/errors.ts'
import type { Timer } from '../runtime/timer.ts'
import type { IdempotencyClient } from './client.ts'
import { type AnswerHeaders, storedHeaders } from './stored-answer.ts'

/** A third of what a lock lasts, so that two heartbeats may fail. */
export const HEARTBEAT_MS = 10_000
/** What a lock lasts: as if the process had died in the middle of the answer. */
export const LEFT_MS = 30_000
/** Between two attempts to say how it ended. */
const ATTEMPT_GAP_MS = 5_000

export interface ClaimKeeping {
  client: IdempotencyClient
  timer: Timer
  random: () => number
  /** How long a handler may run before its claim is left to whoever asks again. */
  maxRunMs: number
  ttlMs: number | undefined
  /** Headers that are kept beside those of the answer. */
  marks: readonly [name: string, value: string][]
  onError(error: KeyrailError): void
  onSuccess(): void
}

/** Which record, and proof that it is held. */
export interface Held {
  scope_hash: string
  env: 'live' | 'test'
  lock_token: string
}

/**
 * A request that this process was told to execute. The claim is kept by heartbeats until it is said how it ended;
 * what cannot be said at once is said again in the background, with heartbeats going on, so that nobody executes
 * meanwhile what has been executed.
 */
export class HeldClaim {
  readonly #held: Held
  readonly #keeping: ClaimKeeping
  readonly #taken = new AbortController()
  /** Heartbeats that are left. */
  #beats: number
  #cancelBeat: () => void
  #cancelLeave: () => void = () => {}
  #ended = false
  #settle: () => void = () => {}
  /** Resolves when it is said how it ended, or given up. */
  readonly settled = new Promise<void>(resolve => {
    this.#settle = resolve
  })

  /** @internal */
  constructor(held: Held, keeping: ClaimKeeping) {
    this.#held = held
    this.#keeping = keeping
    this.#beats = Math.ceil(keeping.maxRunMs / HEARTBEAT_MS)
    this.#cancelBeat = this.#scheduleBeat()
  }

  /** Aborted when the claim is no longer this process's: somebody else may execute the request by now. */
  get taken(): AbortSignal {
    return this.#taken.signal
  }

  /**
   * Says what was answered. A 5xx is not kept: a retry executes. Resolves when it is said, or when one attempt has
   * failed and the next are made in the background; the customer is answered either way.
   *
   * @param body null: it was too large to be kept, and is not replayed
   */
  answered(status: number, headers: AnswerHeaders, body: Uint8Array | null): Promise<void> {
    if (status >= 500) return this.release()
    const { client, ttlMs, marks } = this.#keeping
    const kept = storedHeaders([...headers, ...marks])
    const answer = {
      ...this.#held,
      status,
      headers: kept ?? {},
      body: body === null || kept === undefined ? null : toBase64(body),
      ...(ttlMs !== undefined && { ttl_ms: ttlMs }),
    }
    return this.#end(() => client.complete(answer))
  }

  /** Frees the record, so that a retry executes. */
  release(): Promise<void> {
    return this.#end(() => this.#keeping.client.release(this.#held))
  }

  /**
   * The customer has gone in the middle of the answer. Most handlers end it all the same; one that has not for so long
   * never will, as far as can be told, and the record is freed.
   */
  leave(): void {
    this.#cancelLeave = this.#keeping.timer.after(LEFT_MS, () => void this.release())
  }

  /** Whether the handler has ended. */
  get ended(): boolean {
    return this.#ended
  }

  /** The first end is the end. */
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
    // As long as there are heartbeats left to keep the claim by, and nobody has taken it.
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
      // What the service refuses for what it is will be refused again.
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
    // Nobody waits for a handler that has run for so long, and nothing is kept for it.
    else if (!this.#ended) this.#settle()
  }
}
