import { setTimeout } from 'node:timers/promises'
import { NotSent, openNode, type RedisNode } from './redis-node.ts'
import type { Seed } from './redis-seeds.ts'
import { type Owners, ownersOf, redirectionOf, slotOf } from './redis-slots.ts'

/**
 * A Redis Cluster: one connection to each master. The library's own client for clusters sends a command again when its
 * connection is lost, to any node while its own is gone, and keeps what it cannot send; a check that may have been
 * charged must not be sent twice, and what one shard has lost must not become the load of the others.
 */
export interface Shards {
  /** The master that answers for a tag, as far as is known. */
  placeOf(tag: string): string
  run(tag: string, keys: readonly string[], args: readonly string[]): Promise<unknown>
  close(): void
}

export interface ShardsObserver {
  failed(place: string, error: unknown): void
  answered(place: string): void
  forget(place: string): void
}

/** Times that one call follows a slot to where it has gone. */
const mostHops = 5
/** For a slot of which one key has been moved and another not yet. */
const tryAgainMs = 20
/** Between two looks at who owns which slot. */
export const lookMs = 200
const lookTimeoutMs = 500

/** The place, in the log, of what is no single node's fault. */
const whole = 'cluster'

export function openShards(seeds: readonly Seed[], seed: Seed, observer: ShardsObserver): Shards {
  const nodes = new Map<string, RedisNode>()
  let owners: Owners = []
  let looking: Promise<void> | null = null
  let turn = 0
  let closed = false

  const nodeAt = (place: string): RedisNode => {
    const known = nodes.get(place)
    if (known !== undefined) return known
    const cut = place.lastIndexOf(':')
    const options = { ...seed.options, host: place.slice(0, cut), port: Number(place.slice(cut + 1)) }
    const node = openNode({ place, options }, { lost })
    nodes.set(place, node)
    return node
  }
  const lost = (place: string, error: unknown) => {
    observer.failed(place, error)
    void look()
  }

  /** Learns who owns which slot. Who asks while a look is under way, or was a moment ago, is given that one. */
  const look = (): Promise<void> => {
    if (looking === null) {
      looking = learn().catch(() => {})
      void looking.then(again)
    }
    return looking
  }
  const again = async () => {
    await setTimeout(lookMs, undefined, { ref: false })
    looking = null
    // A replica takes over when it is elected, and tells nobody.
    if (!closed && (owners.length === 0 || [...nodes.values()].some(node => !node.isReady()))) void look()
  }
  const learn = async () => {
    turn += 1
    const ready = [...nodes.values()].filter(node => node.isReady()).map(({ place }) => place)
    // Another one first each time: what one believes during a fail-over may be old.
    const first = turn % Math.max(1, ready.length)
    for (const place of [...ready.slice(first), ...ready.slice(0, first), ...seeds.map(one => one.place)]) {
      const learned = await ownersBy(nodeAt(place))
      if (closed) return
      // A node that lost its memory owns nothing and knows nobody.
      if (learned?.some(owner => owner !== undefined)) return settle(learned)
    }
  }
  const settle = (learned: Owners) => {
    owners = learned
    const places = new Set(owners.filter(place => place !== undefined))
    for (const [place, node] of nodes) {
      if (places.has(place)) continue
      node.close()
      nodes.delete(place)
      observer.forget(place)
    }
    for (const place of places) nodeAt(place)
    if (!owners.includes(undefined)) observer.answered(whole)
  }

  const ownerOf = async (slot: number): Promise<RedisNode> => {
    if (owners[slot] === undefined) await look()
    const place = owners[slot]
    if (place !== undefined) return nodeAt(place)
    const error = new NotSent(`no master of the Redis Cluster has slot ${slot}`)
    observer.failed(whole, error)
    throw error
  }

  /** Where a call goes that was not run, if anywhere; what may have been run goes nowhere. */
  const whereNext = async (error: unknown, node: RedisNode, slot: number) => {
    if (error instanceof NotSent) {
      await look()
      const owner = await ownerOf(slot)
      return owner === node ? null : { node: owner, asking: false }
    }
    const redirection = redirectionOf(error, node.place)
    if (redirection === null || redirection.kind === 'MOVED') void look()
    if (redirection === null) return null
    if (redirection.kind === 'TRYAGAIN') {
      await setTimeout(tryAgainMs)
      return { node, asking: false }
    }
    if (redirection.kind === 'MOVED') owners[slot] = redirection.place
    return { node: nodeAt(redirection.place), asking: redirection.kind === 'ASK' }
  }

  void look()
  return {
    placeOf: tag => owners[slotOf(tag)] ?? seed.place,
    async run(tag, keys, args) {
      const slot = slotOf(tag)
      let node = await ownerOf(slot)
      let asking = false
      for (let hop = 1; ; hop++) {
        try {
          const answer = await node.run(keys, args, asking)
          observer.answered(node.place)
          return answer
        } catch (error) {
          const next = hop < mostHops && !closed ? await whereNext(error, node, slot) : null
          if (next === null) {
            observer.failed(node.place, error)
            throw error
          }
          ;({ node, asking } = next)
        }
      }
    },
    close() {
      closed = true
      for (const node of nodes.values()) node.close()
    },
  }
}

async function ownersBy(node: RedisNode): Promise<Owners | null> {
  const inTime = setTimeout(lookTimeoutMs, null, { ref: false })
  try {
    const table = await Promise.race([node.slots(), inTime])
    return table === null ? null : ownersOf(table, node.place)
  } catch {
    return null
  }
}
