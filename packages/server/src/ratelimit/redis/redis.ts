/**
 * Counters in Redis. `redis.ts` is the store: `batch.ts` makes one call of many checks, `script.ts` with `script-held.ts`
 * decides them in Redis, `keys.ts` walks over keys of counters. `link.ts` connects to one of the `seeds.ts` by a `node.ts`, in
 * a cluster by `shards.ts` with `cluster-map.ts` and `slots.ts`; `facts.ts` is what a server reports of itself, and `outage.ts`
 * logs that it is away. `quota.ts` bounds each project, with `wholes.ts` (sums of environments), `memory.ts` and `pressure.ts`
 * (a server that is nearly full), and `database.ts` reads what that needs; `upkeep.ts` drops counters of invented ids,
 * `clear.ts` those of a workspace.
 */

import { serviceBudgets } from '../../platform/budgets.ts'
import { answerCalls, openBatching } from '../../platform/concurrency/batching.ts'
import { observeBatch } from '../../platform/db/lanes/lane.ts'
import type { Logger } from '../../platform/observe/log.ts'
import type { Metrics } from '../../platform/observe/metrics.ts'
import { Refusal } from '../../platform/refusal.ts'
import type { Check, Tally } from '../fold.ts'
import type { CounterStore } from '../store.ts'
import type { Subject } from '../subject.ts'
import { bytesOf, type Returned, tagOf, toBatch, toChanges, toTallies } from './batch.ts'
import { openLink } from './link.ts'
import { MemoryWatch } from './memory.ts'
import { watchOutages } from './outage.ts'
import { CounterQuota } from './quota.ts'
import { seedsOf } from './seeds.ts'
import { RedisUpkeep } from './upkeep.ts'
import type { CounterFacts } from './wholes.ts'

/** The name in the metrics, where Redis counts as a lane. */
export const laneName = 'ratelimit'

export interface RedisCountersOptions {
  log: Logger
  /** The file of the setting. A new connection reads its login from this file again. */
  file?: string | undefined
  observer: Pick<Metrics, 'batchSent' | 'batchEnded' | 'laneReconnected' | 'redisFailed'>
  /** `SERVICE_MAX_COUNTERS_PER_WORKSPACE`. */
  limit: number
  /** Reads from the database, beside the checks. */
  factsOf(workspaceId: string): Promise<CounterFacts>
  /** @returns the subjects that belong to no key, tenant or project. */
  inventedOf(subjects: readonly Subject[]): Promise<Subject[]>
  monotonic(): number
  /** How long a check without a deadline may take. */
  requestMs?: number
  /** Checks of one server that may be pending; unset: as many as in a lane. */
  pendingMost?: number
  /** Replaces the server's clock, milliseconds since 1970. */
  now?: () => number
}

export interface RedisCounters extends CounterStore {
  /** Checks that wait for the store. */
  depth(): number
  /** The used part of `maxmemory` of the fullest server; null: no server has a `maxmemory`, or one does not answer. */
  readMemory(): Promise<number | null>
}

/**
 * Counters in Redis, one key for each subject. Checks that arrive together are one call of one script: on a single server one
 * call for all; in a cluster one call for each workspace, project and environment, whose keys share a slot. If a call fails,
 * its checks are answered 503, and a call that the server may have run is never sent again.
 * @param setting `REDIS_URL`.
 * @throws {RedisRefused} when a server answers and cannot be used. If no server can be reached, the store waits for one.
 */
export async function openRedisCounters(
  setting: string,
  options: RedisCountersOptions,
): Promise<RedisCounters> {
  const { log, observer, now, requestMs = serviceBudgets.requestMs, limit, monotonic, pendingMost } = options
  const outages = watchOutages(log, () => observer.laneReconnected(laneName))
  const link = await openLink(seedsOf(setting, options.file), outages)
  const call = async (group: string, keys: readonly string[], input: string) => {
    const args = [input, String(now?.() ?? ''), String(quota.usual())]
    const [numbers, changes] = (await link.run(group, keys, args)) as Returned
    quota.learn(toChanges(changes))
    return numbers
  }
  const note = (tag: string, adds: readonly number[]) => {
    const group = link.groupOf(tag.slice('keyrail:{'.length, -1))
    // Units that are lost here end by themselves, and the next call returns the sum.
    call(group, [`${tag}:held`], JSON.stringify([[], [], [[tag, ...adds]], []])).catch(() => {})
  }
  const drop = async (tag: string, keys: readonly string[]) => {
    await call(link.groupOf(tag), keys, JSON.stringify([[], [], [], keys.map((_, i) => i + 1)]))
  }
  const upkeep = new RedisUpkeep({ link, drop, inventedOf: options.inventedOf, monotonic, log })
  const quota = new CounterQuota({
    ...{ limit, monotonic, note, factsOf: options.factsOf },
    isNear: tag => upkeep.freeSpace(tag),
    placeOf: tag => link.placeOf(link.groupOf(tag)),
    hasAdded: () => void memory.read(),
  })
  const memory = new MemoryWatch(link, servers => {
    quota.learnMemory(servers)
    upkeep.learnPressure(quota.isTight)
  })
  await memory.read()
  const runScript = async (group: string, checks: readonly Check[]) => {
    const batch = toBatch(checks, check => quota.unitsOf(check))
    try {
      return toTallies(await call(group, batch.keys, batch.checks), checks)
    } catch (error) {
      observer.redisFailed()
      throw new Refusal('unavailable', '', { cause: error })
    }
  }
  const batching = openBatching<Check, Tally | null>({
    requestMs,
    ...(pendingMost !== undefined && { pendingMost }),
    groupOf: check => link.groupOf(tagOf(check)),
    serverOf: link.placeOf,
    bytesOf,
    carry: (calls, group) =>
      observeBatch(observer, laneName, calls.length, () =>
        answerCalls(calls, checks => runScript(group, checks)),
      ),
  })
  return {
    async check(check, deadline) {
      const tally = await batching.run(check, deadline)
      if (tally === null) throw new Refusal('counter_limit_reached')
      return tally
    },
    depth: batching.depth,
    nearestToLimit: () => quota.nearest(),
    readMemory: () => memory.read(),
    async close() {
      memory.close()
      quota.close()
      await batching.close()
      await upkeep.close()
      link.close()
    },
  }
}
