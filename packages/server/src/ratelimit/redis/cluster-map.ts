import { setTimeout } from 'node:timers/promises'
import { NotSent, openNode, type RedisNode } from './node.ts'
import type { Seed } from './seeds.ts'
import { type Owners, ownersOf } from './slots.ts'

/**
 * Which master of a Redis Cluster owns which slot, with one connection to each master. The map is read again when a master is
 * lost, and whenever a caller finds that the map is out of date.
 */
export interface ClusterMap {
  /** The place of a slot's master, if it is known. */
  placeOf(slot: number): string | undefined
  /**
   * The connection to a slot's master. Reads the map first if the slot is not in it.
   * @throws {NotSent} when no master owns the slot.
   */
  ownerOf(slot: number): Promise<RedisNode>
  /** The connection to a place. It is opened if there is none. */
  nodeAt(place: string): RedisNode
  /** The masters that own slots, as far as is known. */
  masters(): RedisNode[]
  /** Records the new owner of a slot that a redirection names. */
  setOwner(slot: number, place: string): void
  /** Reads the map. Callers during a look, and until 200 ms after its end, share it. */
  look(): Promise<void>
  close(): void
}

export interface ClusterObserver {
  failed(place: string, error: unknown): void
  answered(place: string): void
  forget(place: string): void
}

/** From the end of one look to the next, in ms. */
export const lookMs = 200
/** How long one node may take to answer a look. */
const lookTimeoutMs = 500

/** The place, in the log, of a failure that concerns no single node. */
const wholeCluster = 'cluster'

/** @param seed the node that was reached first. All nodes have its password and its TLS. */
export function openClusterMap(seeds: readonly Seed[], seed: Seed, observer: ClusterObserver): ClusterMap {
  const nodes = new Map<string, RedisNode>()
  let owners: Owners = []
  let looking: Promise<void> | null = null
  let looks = 0
  let closed = false

  const nodeAt = (place: string): RedisNode => {
    const known = nodes.get(place)
    if (known !== undefined) return known
    const cut = place.lastIndexOf(':')
    const options = { ...seed.options, host: place.slice(0, cut), port: Number(place.slice(cut + 1)) }
    const node = openNode({ place, options, login: seed.login }, { lost })
    nodes.set(place, node)
    return node
  }
  const lost = (place: string, error: unknown) => {
    observer.failed(place, error)
    void look()
  }

  const look = (): Promise<void> => {
    if (looking === null) {
      looking = learn().catch(() => {})
      void looking.then(pauseAfterLook)
    }
    return looking
  }
  const pauseAfterLook = async () => {
    await setTimeout(lookMs, undefined, { ref: false })
    looking = null
    // While a master is gone the map is read repeatedly, since a promoted replica does not announce itself.
    if (!closed && (owners.length === 0 || [...nodes.values()].some(node => !node.isReady()))) void look()
  }
  const learn = async () => {
    for (const place of placesToAsk()) {
      const learned = await askOwners(nodeAt(place))
      if (closed) return
      // A node that has lost its memory owns no slot and knows no other node. The next node is asked.
      if (learned?.some(owner => owner !== undefined)) return adopt(learned)
    }
  }
  /** The nodes that are ready, then the seeds. Each look begins with another node, because one node's view may be old. */
  const placesToAsk = (): string[] => {
    looks += 1
    const ready = [...nodes.values()].filter(node => node.isReady()).map(({ place }) => place)
    const first = looks % Math.max(1, ready.length)
    return [...ready.slice(first), ...ready.slice(0, first), ...seeds.map(({ place }) => place)]
  }
  /** Takes a new map: closes connections to nodes that are not in the map, and connects to all nodes in it. */
  const adopt = (learned: Owners) => {
    owners = learned
    const places = new Set(owners.filter(place => place !== undefined))
    for (const [place, node] of nodes) {
      if (places.has(place)) continue
      node.close()
      nodes.delete(place)
      observer.forget(place)
    }
    for (const place of places) nodeAt(place)
    if (!owners.includes(undefined)) observer.answered(wholeCluster)
  }

  void look()
  return {
    placeOf: slot => owners[slot],
    nodeAt,
    look,
    async ownerOf(slot) {
      if (owners[slot] === undefined) await look()
      const place = owners[slot]
      if (place !== undefined) return nodeAt(place)
      const error = new NotSent(`no master of the Redis Cluster owns slot ${slot}`)
      observer.failed(wholeCluster, error)
      throw error
    },
    masters: () => [...new Set(owners)].flatMap(place => (place === undefined ? [] : [nodeAt(place)])),
    setOwner(slot, place) {
      owners[slot] = place
    },
    close() {
      closed = true
      for (const node of nodes.values()) node.close()
    },
  }
}

/** @returns null when the node does not answer in time. */
async function askOwners(node: RedisNode): Promise<Owners | null> {
  const timeout = setTimeout(lookTimeoutMs, null, { ref: false })
  try {
    const table = await Promise.race([node.slots(), timeout])
    return table === null ? null : ownersOf(table, node.place)
  } catch {
    return null
  }
}
