import { type TurnPath, TurnTree } from './turn-tree.ts'

/** While other callers wait, minor callers get every fourth turn. */
const minorEvery = 4

/** The waiting callers of one party. Minor callers and all others have separate space. */
export class WaitingCallers<Waiter extends { readonly isMinor: boolean }> {
  readonly #others: TurnTree<Waiter>
  readonly #minors: TurnTree<Waiter>
  #turnsSinceMinor = 0

  constructor(most: number, mostOfName: number) {
    this.#others = new TurnTree(most, mostOfName)
    this.#minors = new TurnTree(mostOfName)
  }

  get size(): number {
    return this.#others.size + this.#minors.size
  }

  hasOf(isMinor: boolean): boolean {
    return this.#treeOf(isMinor).size > 0
  }

  /** @returns the caller that was dropped for the new one, perhaps the new one itself; null: no caller was dropped. */
  add(path: TurnPath, waiter: Waiter): Waiter | null {
    return this.#treeOf(waiter.isMinor).add(path, waiter)
  }

  /** @returns whether the caller was waiting. */
  remove(waiter: Waiter): boolean {
    return this.#treeOf(waiter.isMinor).remove(waiter)
  }

  /** Removes the caller whose turn it is. @param mayMinor whether a minor caller may hold another place. */
  next(mayMinor: boolean): Waiter | undefined {
    const isMinorsTurn =
      mayMinor &&
      this.#minors.size > 0 &&
      (this.#others.size === 0 || this.#turnsSinceMinor >= minorEvery - 1)
    this.#turnsSinceMinor = isMinorsTurn ? 0 : this.#turnsSinceMinor + 1
    return this.#treeOf(isMinorsTurn).next()
  }

  #treeOf(isMinor: boolean): TurnTree<Waiter> {
    return isMinor ? this.#minors : this.#others
  }
}
