import { setTimeout } from 'node:timers/promises'
import { type ClusterMap, type ClusterObserver, openClusterMap } from './cluster-map.ts'
import { NotSent, type RedisNode } from './node.ts'
import type { Seed } from './seeds.ts'
import { redirectionOf, slotOf } from './slots.ts'

/**
 * Calls to the masters of a Redis Cluster. docs/decisions/0019-checks-go-to-redis-once.md says why this replaces the library's
 * own client for clusters.
 */
export interface Shards {
  /** The master that answers for a tag, as far as is known. */
  placeOf(tag: string): string
  run(tag: string, keys: readonly string[], args: readonly string[]): Promise<unknown>
  masters(): Promise<RedisNode[]>
  close(): void
}

/** How many servers one call is sent to at most, while it follows a slot that moves. */
const hopsMax = 5
/** The pause after `TRYAGAIN`: only some keys of the slot have moved to another master. */
const tryAgainMs = 20

export function openShards(seeds: readonly Seed[], seed: Seed, observer: ClusterObserver): Shards {
  const map = openClusterMap(seeds, seed, observer)
  let closed = false

  return {
    placeOf: tag => map.placeOf(slotOf(tag)) ?? seed.place,
    async run(tag, keys, args) {
      const slot = slotOf(tag)
      let hop: Hop = { node: await map.ownerOf(slot), asking: false }
      for (let hops = 1; ; hops++) {
        try {
          const answer = await hop.node.run(keys, args, hop.asking)
          observer.answered(hop.node.place)
          return answer
        } catch (error) {
          const next = hops < hopsMax && !closed ? await nextHop(map, error, hop.node, slot) : null
          if (next === null) {
            observer.failed(hop.node.place, error)
            throw error
          }
          hop = next
        }
      }
    },
    async masters() {
      if (map.masters().length === 0) await map.look()
      return map.masters()
    },
    close() {
      closed = true
      map.close()
    },
  }
}

/** Where a call is sent. */
interface Hop {
  readonly node: RedisNode
  /** Whether the slot is still being moved to this node, which then must be asked with `ASKING`. */
  readonly asking: boolean
}

/**
 * Decides where to send a call that failed.
 * @returns null when the call may have been run, or when there is no other node to try.
 */
async function nextHop(map: ClusterMap, error: unknown, node: RedisNode, slot: number): Promise<Hop | null> {
  if (error instanceof NotSent) {
    await map.look()
    const owner = await map.ownerOf(slot)
    return owner === node ? null : { node: owner, asking: false }
  }
  const redirection = redirectionOf(error, node.place)
  switch (redirection?.kind) {
    case undefined:
      void map.look()
      return null
    case 'TRYAGAIN':
      await setTimeout(tryAgainMs)
      return { node, asking: false }
    case 'ASK':
      return { node: map.nodeAt(redirection.place), asking: true }
    case 'MOVED':
      // The rest of the map may be old too, although this slot is known now.
      void map.look()
      map.setOwner(slot, redirection.place)
      return { node: map.nodeAt(redirection.place), asking: false }
  }
}
