import { liveMs } from './live.ts'

/** A project, and the environments that its nodes see. */
interface NodePlace {
  readonly workspaceId: string
  readonly projectId: string
  readonly sees: string
}

/** What is kept of a node: its place, and what it holds. */
interface Unwritten extends NodePlace {
  readonly node: string
  readonly version: number
}

export interface NotedNode extends Unwritten {
  /** When it was noted, by the monotonic clock. */
  readonly at: number
}

/** Over all workspaces, about 300 bytes each. */
const keptMax = 10_000

interface Held {
  /** The one noted first comes first. */
  readonly nodes: Map<string, NotedNode>
  /** When a node that may be live was forgotten. */
  forgotAt: number
}

interface Workspace {
  readonly places: Map<string, Held>
  size: number
}

/**
 * Nodes that could not be recorded, because the database refuses writes or has no space for more nodes of their project. At the
 * limit, the workspace with the most forgets the oldest of its largest place, and knows that this place has forgotten: a
 * test key that invents nodes makes nothing unsure about nodes that see live keys.
 */
export class UnwrittenNodes {
  readonly #byWorkspace = new Map<string, Workspace>()
  readonly #now: () => number
  readonly #max: number
  #size = 0

  /** @param now a monotonic clock, in milliseconds. */
  constructor(now: () => number, max: number = keptMax) {
    this.#now = now
    this.#max = max
  }

  note({ workspaceId, projectId, sees, node, version }: Unwritten): void {
    const workspace = this.#byWorkspace.get(workspaceId) ?? { places: new Map(), size: 0 }
    this.#byWorkspace.set(workspaceId, workspace)
    const place = nameOf({ projectId, sees })
    const held = workspace.places.get(place) ?? { nodes: new Map(), forgotAt: Number.NEGATIVE_INFINITY }
    workspace.places.set(place, held)
    if (!held.nodes.delete(node)) this.#grow(workspace, 1)
    held.nodes.set(node, { workspaceId, projectId, sees, node, version, at: this.#now() })
    if (this.#size > this.#max) this.#forgetOne()
  }

  /** Call it once the node is recorded. */
  delete(sighting: Omit<Unwritten, 'version'>): void {
    const workspace = this.#byWorkspace.get(sighting.workspaceId)
    const held = workspace?.places.get(nameOf(sighting))
    if (workspace === undefined || held === undefined || !held.nodes.delete(sighting.node)) return
    this.#grow(workspace, -1)
    this.#tidy(sighting.workspaceId, workspace)
  }

  /** Call it once the node is recorded elsewhere. Keeps what was noted of the node since then. */
  forget(noted: NotedNode): void {
    if (this.#heldOf(noted)?.nodes.get(noted.node) === noted) this.delete(noted)
  }

  /** The live nodes of a place, the one noted first comes first. */
  liveOf(place: NodePlace): NotedNode[] {
    const from = this.#now() - liveMs
    return [...(this.#heldOf(place)?.nodes.values() ?? [])].filter(({ at }) => at > from)
  }

  /** Whether a live node of the place may have been forgotten. */
  isUnsure(place: NodePlace): boolean {
    const held = this.#heldOf(place)
    return held !== undefined && this.#hasForgotten(held)
  }

  #heldOf(place: NodePlace): Held | undefined {
    return this.#byWorkspace.get(place.workspaceId)?.places.get(nameOf(place))
  }

  #hasForgotten({ forgotAt }: Held): boolean {
    return this.#now() - forgotAt < liveMs
  }

  #grow(workspace: Workspace, by: 1 | -1): void {
    workspace.size += by
    this.#size += by
  }

  #forgetOne(): void {
    let largest: Workspace | undefined
    for (const [id, workspace] of this.#byWorkspace) {
      this.#tidy(id, workspace)
      if (workspace.size > (largest?.size ?? 0)) largest = workspace
    }
    if (largest === undefined) return
    let held: Held | undefined
    for (const each of largest.places.values()) if (each.nodes.size > (held?.nodes.size ?? 0)) held = each
    const [oldest] = held?.nodes ?? []
    if (held === undefined || oldest === undefined) return
    const [node, { at }] = oldest
    held.nodes.delete(node)
    this.#grow(largest, -1)
    if (this.#now() - at < liveMs) held.forgotAt = this.#now()
  }

  /** Removes places without nodes that need not remember a forgotten node. */
  #tidy(workspaceId: string, { places }: Workspace): void {
    for (const [name, held] of places)
      if (held.nodes.size === 0 && !this.#hasForgotten(held)) places.delete(name)
    if (places.size === 0) this.#byWorkspace.delete(workspaceId)
  }
}

const nameOf = ({ projectId, sees }: Omit<NodePlace, 'workspaceId'>): string => `${projectId} ${sees}`
