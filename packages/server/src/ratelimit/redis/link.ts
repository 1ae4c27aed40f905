import { setTimeout } from 'node:timers/promises'
import { type RedisFacts, readFacts } from './facts.ts'
import { NotSent, openNode, type RedisNode } from './node.ts'
import type { Outages } from './outage.ts'
import { RedisRefused, type Seed } from './seeds.ts'
import { openShards } from './shards.ts'

/** The connection to Redis, either one server or a cluster. */
export interface Link {
  /** The group of a check. Checks of one group may be sent together. */
  groupOf(tag: string): string
  /** The server that answers for a group. */
  placeOf(group: string): string
  run(group: string, keys: readonly string[], args: readonly string[]): Promise<unknown>
  /** The server, or the masters of the cluster. @throws {NotSent} before any server was reached. */
  masters(): Promise<RedisNode[]>
  close(): void
}

/** The pause between two attempts to reach a seed. */
const lookMs = 250

/**
 * Finds out whether REDIS_URL names a server or a cluster. If no seed can be reached, it goes on trying in the background,
 * because the rest of the service works without Redis.
 * @throws {RedisRefused} when a server answers and cannot be used.
 */
export async function openLink(seeds: readonly Seed[], outages: Outages): Promise<Link> {
  const { place = '' } = seeds[0] ?? {}
  let found: Link | null = null
  let last: unknown
  let closed = false

  const look = async () => {
    const facts = await readFacts(seeds)
    if (!closed) found = open(facts, seeds, outages)
    outages.answered(place)
  }
  const goOn = async () => {
    while (!closed && found === null) {
      await setTimeout(lookMs, undefined, { ref: false })
      await look().catch(failed)
    }
  }
  const failed = (error: unknown) => {
    last = error
    outages.failed(place, error)
  }
  try {
    await look()
  } catch (error) {
    if (error instanceof RedisRefused) throw error
    failed(error)
    void goOn()
  }
  return {
    groupOf: tag => found?.groupOf(tag) ?? tag,
    placeOf: group => found?.placeOf(group) ?? place,
    async run(group, keys, args) {
      if (found === null) throw new NotSent(`no connection to Redis at ${place}`, { cause: last })
      return await found.run(group, keys, args)
    },
    async masters() {
      if (found === null) throw new NotSent(`no connection to Redis at ${place}`, { cause: last })
      return await found.masters()
    },
    close() {
      closed = true
      found?.close()
    },
  }
}

function open({ seed, isCluster }: RedisFacts, seeds: readonly Seed[], outages: Outages): Link {
  if (isCluster) return { groupOf: tag => tag, ...openShards(seeds, seed, outages) }
  const node = openNode(seed, { lost: outages.failed })
  return {
    groupOf: () => '',
    placeOf: () => node.place,
    async run(_group, keys, args) {
      try {
        const answer = await node.run(keys, args)
        outages.answered(node.place)
        return answer
      } catch (error) {
        outages.failed(node.place, error)
        throw error
      }
    },
    masters: async () => [node],
    close: () => node.close(),
  }
}
