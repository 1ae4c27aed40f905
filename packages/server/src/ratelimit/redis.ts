import { answerCalls, openBatching } from '../platform/batching.ts'
import { serviceBudgets } from '../platform/budgets.ts'
import { observeBatch } from '../platform/db/lane.ts'
import type { Logger } from '../platform/log.ts'
import type { Metrics } from '../platform/metrics.ts'
import { Refusal } from '../platform/refusal.ts'
import type { Check, Tally } from './fold.ts'
import { bytesOf, tagOf, toBatch, toTallies } from './redis-batch.ts'
import { openLink } from './redis-link.ts'
import { watchOutages } from './redis-outage.ts'
import { seedsOf } from './redis-seeds.ts'
import type { CounterStore } from './store.ts'

/** Its name in the metrics, where Redis is a lane like those of Postgres. */
export const laneName = 'ratelimit'

export interface RedisCountersOptions {
  log: Logger
  observer: Pick<Metrics, 'batchSent' | 'batchEnded' | 'laneReconnected' | 'redisFailed'>
  /** How long a check may take whose call has no deadline. */
  requestMs?: number
  /** Replaces the server's clock, milliseconds since 1970. */
  now?: () => number
}

export interface RedisCounters extends CounterStore {
  /** Checks that wait for the store. */
  depth(): number
}

/**
 * Counters in Redis, one key a subject. Checks that arrive together are one call of one script: a single call on one
 * server; in a cluster one call for each workspace, project and environment, whose keys share a slot. Checks of a call that
 * fails are answered 503, and a call that may have been run is never sent again.
 * @param setting `REDIS_URL`.
 * @throws {RedisRefused} when a server answers and cannot be used. A server that cannot be reached is waited for.
 */
export async function openRedisCounters(
  setting: string,
  { log, observer, now, requestMs = serviceBudgets.requestMs }: RedisCountersOptions,
): Promise<RedisCounters> {
  const link = await openLink(
    seedsOf(setting),
    watchOutages(log, () => observer.laneReconnected(laneName)),
  )
  const runScript = async (group: string, checks: readonly Check[]) => {
    const batch = toBatch(checks)
    try {
      return await link.run(group, batch.keys, [batch.checks, String(now?.() ?? '')])
    } catch (error) {
      observer.redisFailed()
      throw new Refusal('unavailable', '', { cause: error })
    }
  }
  const batching = openBatching<Check, Tally>({
    requestMs,
    groupOf: check => link.groupOf(tagOf(check)),
    serverOf: link.placeOf,
    bytesOf,
    async carry(calls, group) {
      await observeBatch(observer, laneName, calls.length, () =>
        answerCalls(calls, async checks => toTallies((await runScript(group, checks)) as number[], checks)),
      )
    },
  })
  return {
    check: batching.run,
    depth: batching.depth,
    async close() {
      await batching.close()
      link.close()
    },
  }
}
