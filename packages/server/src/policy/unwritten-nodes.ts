import { liveMs } from './live.ts'

/** What is kept of a node: which project's it is, and what it holds. */
interface Unwritten {
  readonly workspaceId: string
  readonly projectId: string
  readonly sees: string
  readonly node: string
  readonly version: number
}

/** Over all workspaces, about 300 bytes each. */
const keptMax = 10_000

interface Held {
  readonly nodes: Map<string, Unwritten & { readonly at: number }>
  /** When a node that may be live was forgotten. */
  forgotAt: number
}

/**
 * Nodes that could not be recorded, because the database refuses writes or has no room for more nodes of their project. At the
 * limit, the workspace with the most forgets its oldest, and knows that it has.
 */
export class UnwrittenNodes {
  readonly #byWorkspace = new Map<string, Held>()
  readonly #now: () => number
  readonly #max: number
  #size = 0

  /** @param now a monotonic clock, in milliseconds. */
  constructor(now: () => number, max: number = keptMax) {
    this.#now = now
    this.#max = max
  }

  note(sighting: Unwritten): void {
    const { workspaceId, projectId, sees, node, version } = sighting
    const held = this.#byWorkspace.get(workspaceId) ?? {
      nodes: new Map(),
      forgotAt: Number.NEGATIVE_INFINITY,
    }
    this.#byWorkspace.set(workspaceId, held)
    const name = nameOf(sighting)
    if (!held.nodes.delete(name)) this.#size += 1
    held.nodes.set(name, { workspaceId, projectId, sees, node, version, at: this.#now() })
    if (this.#size > this.#max) this.#forgetOne()
  }

  /** It is recorded now. */
  delete(sighting: Omit<Unwritten, 'version'>): void {
    const held = this.#byWorkspace.get(sighting.workspaceId)
    if (held === undefined || !held.nodes.delete(nameOf(sighting))) return
    this.#size -= 1
    if (held.nodes.size === 0 && !this.isUnsure(sighting.workspaceId))
      this.#byWorkspace.delete(sighting.workspaceId)
  }

  /** The live ones of a workspace. */
  liveOf(workspaceId: string): Unwritten[] {
    const from = this.#now() - liveMs
    return [...(this.#byWorkspace.get(workspaceId)?.nodes.values() ?? [])].filter(({ at }) => at > from)
  }

  /** Whether a live node of the workspace may have been forgotten. */
  isUnsure(workspaceId: string): boolean {
    const forgotAt = this.#byWorkspace.get(workspaceId)?.forgotAt ?? Number.NEGATIVE_INFINITY
    return this.#now() - forgotAt < liveMs
  }

  #forgetOne(): void {
    let largest: Held | undefined
    for (const [workspaceId, held] of this.#byWorkspace) {
      if (held.nodes.size === 0 && !this.isUnsure(workspaceId)) this.#byWorkspace.delete(workspaceId)
      else if (held.nodes.size > (largest?.nodes.size ?? 0)) largest = held
    }
    const [oldest] = largest?.nodes ?? []
    if (largest === undefined || oldest === undefined) return
    const [name, { at }] = oldest
    largest.nodes.delete(name)
    this.#size -= 1
    if (this.#now() - at < liveMs) largest.forgotAt = this.#now()
  }
}

const nameOf = ({ projectId, sees, node }: Omit<Unwritten, 'version'>): string =>
  `${projectId} ${sees} ${node}`
