/** How many requests may be held in total and per workspace. Each is a request, a response and a timer. */
export interface HeldMax {
  readonly all: number
  readonly ofWorkspace: number
}

interface Held {
  readonly isTest: boolean
  end(): void
}

interface Owner {
  /** In order of arrival. */
  readonly polls: Set<Held>
  tests: number
}

/**
 * The places of held requests. Test keys have at most half of the places of a workspace. When all places are taken, a
 * workspace that holds fewer gets one of the workspace that holds most.
 */
export class HeldPlaces {
  readonly #max: HeldMax
  readonly #owners = new Map<string, Owner>()
  /** The workspaces that hold this many. */
  readonly #byCount: Set<Owner>[] = [new Set()]
  #all = 0
  #most = 0

  constructor(max: HeldMax) {
    this.#max = max
  }

  /** How many requests are held, and the most of one workspace. */
  get held(): { all: number; mostOfOne: number } {
    return { all: this.#all, mostOfOne: this.#most }
  }

  /**
   * @param end ends this wait in favour of another workspace, and gives its place back at once.
   * @returns gives the place back; a second call does nothing. Null: there is no place.
   */
  take(workspaceId: string, isTest: boolean, end: () => void): (() => void) | null {
    const owner = this.#owners.get(workspaceId) ?? { polls: new Set(), tests: 0 }
    const { all, ofWorkspace } = this.#max
    if (owner.polls.size >= ofWorkspace) return null
    if (isTest && owner.tests >= Math.ceil(ofWorkspace / 2)) return null
    if (this.#all >= all && !this.#endOldest(owner)) return null
    const poll = { isTest, end }
    this.#owners.set(workspaceId, owner)
    this.#change(owner, () => owner.polls.add(poll))
    owner.tests += Number(isTest)
    return () => this.#leave(workspaceId, owner, poll)
  }

  /** Ends the oldest wait of the largest workspace, unless another wait makes this one as large. */
  #endOldest(owner: Owner): boolean {
    const [largest] = this.#byCount[this.#most] ?? []
    if (largest === undefined || largest.polls.size <= owner.polls.size + 1) return false
    const [oldest] = largest.polls
    oldest?.end()
    return true
  }

  #leave(workspaceId: string, owner: Owner, poll: Held): void {
    if (!owner.polls.has(poll)) return
    this.#change(owner, () => owner.polls.delete(poll))
    owner.tests -= Number(poll.isTest)
    if (owner.polls.size === 0) this.#owners.delete(workspaceId)
  }

  /** By one. */
  #change(owner: Owner, apply: () => void): void {
    const before = owner.polls.size
    this.#byCount[before]?.delete(owner)
    apply()
    const after = owner.polls.size
    this.#byCount[after] ??= new Set()
    if (after > 0) this.#byCount[after].add(owner)
    this.#all += after - before
    if (after > this.#most) this.#most = after
    else if (this.#byCount[this.#most]?.size === 0) this.#most = after
  }
}
