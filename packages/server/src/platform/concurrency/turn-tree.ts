/**
 * The names of a caller within its party, from the outermost. At each level the names take turns; callers without a further
 * name share one turn.
 */
export type TurnPath = readonly string[]

interface Branch<Waiter> {
  /** How many callers wait in the branch, at any depth. */
  size: number
  /** In the order of their turns. */
  readonly branches: Map<string, Branch<Waiter>>
  /** In order of arrival. */
  readonly callers: Set<Waiter>
}

/** The branch of the callers that have no further name. */
const own = ''

/**
 * The waiting callers of one party. While a caller waits, each other name of its level passes it with at most one caller at a
 * time, however many callers that name has.
 */
export class TurnTree<Waiter> {
  readonly #root: Branch<Waiter> = newBranch()
  readonly #paths = new Map<Waiter, TurnPath>()
  readonly #most: number
  readonly #mostOfName: number

  /** @param most how many callers may wait. @param mostOfName how many of them may have one name, at any level. */
  constructor(most: number, mostOfName: number = most) {
    this.#most = most
    this.#mostOfName = mostOfName
  }

  get size(): number {
    return this.#root.size
  }

  /**
   * Adds a caller. If that is one caller too many, the newest caller of the largest name is dropped: so a name with few callers
   * finds a place beside a name with many.
   * @returns the dropped caller, perhaps the new one; null: no caller was dropped.
   */
  add(path: TurnPath, waiter: Waiter): Waiter | null {
    const way = this.#wayTo(path, true)
    for (const branch of way) branch.size += 1
    way.at(-1)?.callers.add(waiter)
    this.#paths.set(waiter, path)
    const at = way.findLastIndex(({ size }, depth) => size > this.#mostAt(depth, path))
    if (at === -1) return null
    const dropped = newestOf(way, at)
    this.remove(dropped)
    return dropped
  }

  /** @returns whether the caller was waiting. */
  remove(waiter: Waiter): boolean {
    const path = this.#paths.get(waiter)
    if (path === undefined) return false
    this.#paths.delete(waiter)
    const way = this.#wayTo(path, false)
    for (const branch of way) branch.size -= 1
    way.at(-1)?.callers.delete(waiter)
    const empty = way.findIndex(({ size }, depth) => depth > 0 && size === 0)
    if (empty > 0) way[empty - 1]?.branches.delete(path[empty - 1] ?? own)
    return true
  }

  /** Removes the caller whose turn it is, and puts the caller's names behind all other names. */
  next(): Waiter | undefined {
    let branch = this.#root
    while (branch.branches.size > 0) {
      const [[name, first] = []] = branch.branches
      if (name === undefined || first === undefined) break
      branch.branches.delete(name)
      branch.branches.set(name, first)
      branch = first
    }
    const [waiter] = branch.callers
    if (waiter !== undefined) this.remove(waiter)
    return waiter
  }

  #mostAt(depth: number, path: TurnPath): number {
    return depth === 0 || path.length === 0 ? this.#most : this.#mostOfName
  }

  #wayTo(path: TurnPath, makes: boolean): Branch<Waiter>[] {
    const way = [this.#root]
    let branch = this.#root
    for (const name of [...path, own]) {
      let below = branch.branches.get(name)
      if (below === undefined) {
        if (!makes) return way
        below = newBranch()
        branch.branches.set(name, below)
      }
      way.push(below)
      branch = below
    }
    return way
  }
}

const newBranch = <Waiter>(): Branch<Waiter> => ({ size: 0, branches: new Map(), callers: new Set() })

/**
 * The newest caller in the largest branch at each level below `way[at]`. Among equally large branches, the one of `way` is
 * taken.
 */
function newestOf<Waiter>(way: readonly Branch<Waiter>[], at: number): Waiter {
  let branch = way[at] as Branch<Waiter>
  for (let depth = at + 1; branch.branches.size > 0; depth++) {
    let largest = [...branch.branches.values()].find(below => below === way[depth])
    for (const below of branch.branches.values())
      if (largest === undefined || below.size > largest.size) largest = below
    branch = largest as Branch<Waiter>
  }
  return [...branch.callers].at(-1) as Waiter
}
