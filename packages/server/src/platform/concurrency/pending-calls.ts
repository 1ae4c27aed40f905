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

/** How often the queues are searched for overdue calls. A timer for each call would cost more than a look-up of a key. */
const lookMs = 25

/**
 * Answers 503 to overdue calls.
 *
 * @param lists the queues that hold calls until they are answered. A separate `Set` of the calls would change wholly with each
 * batch, and be laid out anew each time.
 * @returns a function to call when a call begins to wait. The timer stops when no call is left.
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
