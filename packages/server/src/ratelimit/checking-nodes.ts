import type { Env } from '@keyrail/contract/shared'
import type { Clock } from '../platform/clock.ts'
import { recentlyUsed } from '../platform/concurrency/recently-used.ts'

/** Whose counters a check charges. */
interface Place {
  readonly workspaceId: string
  readonly projectId: string
  readonly env: Env
}

/** A node that has asked nothing for this long counts no more. */
const liveMs = 90_000
/** Of one place. Beyond, the node that asked first counts no more, so the number stays a lower bound. */
const mostNodes = 1_000
/** Over all workspaces. */
const mostPlaces = 1_000

/**
 * How many nodes have asked this process about limits within 90 s, by project and environment. Nodes that ask other processes are
 * unknown here, so there may be more. The figure is a hint: no decision about a request depends on it.
 */
export class CheckingNodes {
  /** The node that asked last comes last. */
  readonly #places = recentlyUsed<Map<string, number>>(mostPlaces)
  readonly #clock: Pick<Clock, 'monotonic'>

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock
  }

  /** @returns the number of live nodes of the place, with this one */
  note({ workspaceId, projectId, env }: Place, node: string): number {
    const name = `${workspaceId} ${projectId} ${env}`
    const known = this.#places.get(name)
    const nodes = known ?? new Map<string, number>()
    if (known === undefined) this.#places.set(name, nodes)
    const now = this.#clock.monotonic()
    nodes.delete(node)
    nodes.set(node, now)
    for (const [first, at] of nodes) {
      if (nodes.size <= mostNodes && now - at < liveMs) break
      nodes.delete(first)
    }
    return nodes.size
  }
}
