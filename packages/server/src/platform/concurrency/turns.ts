/**
 * The order of calls when more wait than one batch holds: each party has one call, then each has another. The parties that have
 * had no call in a batch for longest come first, so that a few calls of full size keep no other party waiting.
 */
export class Turns<Item> {
  readonly #partyOf: (item: Item) => string
  /** The number of the last batch with a call of the party, for parties that still wait. */
  #lastBatchOf = new Map<string, number>()
  #batches = 0

  constructor(partyOf: (item: Item) => string) {
    this.#partyOf = partyOf
  }

  /** @returns the calls as parties take turns; the calls of one party stay in their order. */
  order<Call extends { readonly item: Item }>(calls: readonly Call[]): Call[] {
    const byParty = Map.groupBy(calls, ({ item }) => this.#partyOf(item))
    this.#lastBatchOf = new Map([...byParty.keys()].map(party => [party, this.#lastBatchOf.get(party) ?? 0]))
    const parties = [...this.#lastBatchOf].sort(([, a], [, b]) => a - b)
    const ordered: Call[] = []
    let left = parties.map(([party]) => byParty.get(party) ?? [])
    for (let turn = 0; left.length > 0; turn++) {
      for (const own of left) ordered.push(own[turn] as Call)
      left = left.filter(own => own.length > turn + 1)
    }
    return ordered
  }

  /** Records which parties have calls in a batch. */
  note(calls: readonly { readonly item: Item }[]): void {
    this.#batches += 1
    for (const { item } of calls) this.#lastBatchOf.set(this.#partyOf(item), this.#batches)
  }
}
