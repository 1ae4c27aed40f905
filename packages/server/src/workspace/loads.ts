import type { Lane } from '../platform/db/lanes/lane.ts'
import type { Lanes } from '../platform/db/lanes/lanes.ts'
import { addLoads } from './load-sql.ts'

/** What a workspace has asked of this process since the last write. */
interface Load {
  readonly workspaceId: string
  requests: number
  connectionMs: number
}

/** The time from a count to its row, in ms. */
const writeMs = 60_000
/** Workspaces that are counted at once, about 200 bytes each. Further workspaces are not counted until the next write. */
const workspacesMax = 20_000

/**
 * Counts what each workspace asks of this process, for an operator who looks for the workspace that delays all others. The
 * figures limit nothing: a process that is killed loses the figures of up to a minute, and so does a write that fails.
 */
export class WorkspaceLoads {
  readonly #lane: Lane<Load, null>
  #counted = new Map<string, Load>()
  #timer: NodeJS.Timeout | null = null

  constructor(lanes: Pick<Lanes, 'open'>) {
    this.#lane = lanes.open<Load, null>({
      name: 'workspace_load',
      shares: 'writes',
      statement: addLoads,
      // A repeated write would count twice.
      repeatable: false,
      values: loads => [
        loads.map(({ workspaceId }) => workspaceId),
        loads.map(({ requests }) => requests),
        loads.map(({ connectionMs }) => Math.round(connectionMs)),
      ],
      answers: (_, loads) => loads.map(() => null),
    })
  }

  /** A request of the workspace was answered. */
  countRequest(workspaceId: string): void {
    const load = this.#loadOf(workspaceId)
    if (load !== null) load.requests += 1
  }

  /** A transaction of the workspace gave its connection back. @param ms how long it had the connection. */
  countConnection(workspaceId: string, ms: number): void {
    const load = this.#loadOf(workspaceId)
    if (load !== null) load.connectionMs += ms
  }

  /** Writes what was counted. */
  async flush(): Promise<void> {
    const loads = [...this.#counted.values()]
    this.#counted = new Map()
    await Promise.allSettled(loads.map(load => this.#lane.run(load)))
  }

  async close(): Promise<void> {
    if (this.#timer !== null) clearTimeout(this.#timer)
    await this.flush()
  }

  #loadOf(workspaceId: string): Load | null {
    const known = this.#counted.get(workspaceId)
    if (known !== undefined) return known
    if (this.#counted.size >= workspacesMax) return null
    const load = { workspaceId, requests: 0, connectionMs: 0 }
    this.#counted.set(workspaceId, load)
    this.#timer ??= setTimeout(() => {
      this.#timer = null
      void this.flush()
    }, writeMs).unref()
    return load
  }
}
