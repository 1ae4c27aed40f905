import { Refusal } from '../refusal.ts'

/** One caller that waits for an answer. Only the first `resolve` or `reject` takes effect. */
export interface Pending<In, Out> {
  readonly item: In
  /** Whether the caller has been answered, perhaps with 503 at its deadline. */
  readonly isAnswered: boolean
  resolve(answer: Out): void
  reject(error: unknown): void
}

/** Pending calls to one server. */
export interface PendingCount {
  pending: number
}

/** A call that is waiting or under way. */
export class PendingCall<In, Out> implements Pending<In, Out> {
  readonly item: In
  /** When the caller must be answered, on the clock of `performance.now()`. */
  readonly until: number
  readonly #count: PendingCount
  readonly #outcome = Promise.withResolvers<Out>()
  #isAnswered = false

  /** @param count counts the pending calls that share a limit. */
  constructor(item: In, until: number, count: PendingCount) {
    this.item = item
    this.until = until
    this.#count = count
    count.pending += 1
  }

  get answer(): Promise<Out> {
    return this.#outcome.promise
  }

  get isAnswered(): boolean {
    return this.#isAnswered
  }

  resolve(answer: Out): void {
    if (this.#settle()) this.#outcome.resolve(answer)
  }

  reject(error: unknown): void {
    if (this.#settle()) this.#outcome.reject(error)
  }

  /** @returns whether this is the first answer. */
  #settle(): boolean {
    if (this.#isAnswered) return false
    this.#isAnswered = true
    this.#count.pending -= 1
    return true
  }
}

/** How often overdue calls are looked for. A timer for each call would cost more than a look-up of a key. */
const lookMs = 25

/**
 * Answers 503 to calls that are overdue.
 *
 * @param lists where calls are until they are answered. There is no other list: a `Set` of the calls would turn over wholly
 *   with each batch, and a table that turns over is laid out anew each time.
 * @returns call it when a call begins to wait. The clock stops by itself when none is left.
 */
export function watchDeadlines(
  lists: () => Iterable<readonly Pick<PendingCall<never, unknown>, 'until' | 'isAnswered' | 'reject'>[]>,
): () => void {
  let clock: NodeJS.Timeout | undefined

  const look = () => {
    const now = performance.now()
    let isIdle = true
    for (const calls of lists()) {
      for (const call of calls) {
        if (call.until <= now) call.reject(new Refusal('unavailable'))
        if (!call.isAnswered) isIdle = false
      }
    }
    if (!isIdle) return
    clearInterval(clock)
    clock = undefined
  }
  return () => {
    clock ??= setInterval(look, lookMs)
  }
}
