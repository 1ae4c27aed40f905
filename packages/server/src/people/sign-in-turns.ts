import { Refusal } from '../platform/refusal.ts'

/** How many callers of one account may wait, and how many of these from one network. */
export const waitingMax = 16
export const waitingOfNetworkMax = 4

interface Waiter {
  begin(): void
  giveWay(): void
}

/**
 * Password checks of one account. Networks take turns: a flood from one network delays the account's owner by one check, not
 * by the whole flood.
 */
export class Turns {
  #underWay = 0
  #waiting = 0
  /** By network; the first network has the next turn. */
  readonly #lines = new Map<string, Waiter[]>()

  get underWay(): number {
    return this.#underWay
  }

  get isIdle(): boolean {
    return this.#underWay === 0 && this.#waiting === 0
  }

  /**
   * Begins at once, or when other checks have ended. If all places to wait are taken, the last caller of the longest queue is
   * refused in favour of a caller whose network has fewer callers: so a few networks cannot keep out the account's owner.
   * @throws {Refusal} `too_many_requests` when too many wait already, or the caller has hung up.
   */
  async begin(network: string, atOnce: number, hangUp: AbortSignal | undefined): Promise<void> {
    if (this.#underWay < atOnce && this.#waiting === 0) {
      this.#underWay += 1
      return
    }
    const line = this.#lines.get(network) ?? []
    if (line.length >= waitingOfNetworkMax || hangUp?.aborted) throw tooMany()
    if (this.#waiting >= waitingMax && !this.#refuseLongest(line.length)) throw tooMany()
    const turn = Promise.withResolvers<void>()
    const waiter = { begin: turn.resolve, giveWay: () => turn.reject(tooMany()) }
    line.push(waiter)
    this.#lines.set(network, line)
    this.#waiting += 1
    const giveUp = () => {
      if (this.#remove(network, waiter)) turn.reject(tooMany())
    }
    hangUp?.addEventListener('abort', giveUp, { once: true })
    await turn.promise.finally(() => hangUp?.removeEventListener('abort', giveUp))
  }

  end(atOnce: number): void {
    this.#underWay -= 1
    while (this.#underWay < atOnce && this.#waiting > 0) this.#beginNext()
  }

  #beginNext(): void {
    for (const [network, line] of this.#lines) {
      const [next] = line
      if (next === undefined) continue
      this.#remove(network, next)
      const rest = this.#lines.get(network)
      // The network goes to the end of the round.
      if (rest !== undefined && this.#lines.delete(network)) this.#lines.set(network, rest)
      this.#underWay += 1
      next.begin()
      return
    }
  }

  /** @returns whether a caller of a longer queue was refused. */
  #refuseLongest(length: number): boolean {
    let longest: [string, Waiter[]] | undefined
    for (const one of this.#lines) if (one[1].length > (longest?.[1].length ?? 0)) longest = one
    const last = longest?.[1].at(-1)
    if (longest === undefined || last === undefined || longest[1].length <= length + 1) return false
    this.#remove(longest[0], last)
    last.giveWay()
    return true
  }

  /** @returns whether the caller was still waiting. */
  #remove(network: string, waiter: Waiter): boolean {
    const line = this.#lines.get(network)
    const at = line?.indexOf(waiter) ?? -1
    if (line === undefined || at === -1) return false
    line.splice(at, 1)
    if (line.length === 0) this.#lines.delete(network)
    this.#waiting -= 1
    return true
  }
}

const tooMany = () =>
  new Refusal('too_many_requests', 'Too many sign-ins to this account are under way.', {
    headers: { 'retry-after': '4' },
  })
