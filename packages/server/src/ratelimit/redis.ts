import type { Logger } from '../platform/log.ts'
import type { Metrics } from '../platform/metrics.ts'
import { Refusal } from '../platform/refusal.ts'
import type { Check, Tally } from './fold.ts'
import { bytesOf, tagOf, toBatch, toTallies } from './redis-batch.ts'
import { openGather } from './redis-gather.ts'
import { openLink } from './redis-link.ts'
import { watchOutages } from './redis-outage.ts'
import { seedsOf } from './redis-seeds.ts'
import type { CounterStore } from './store.ts'

export interface RedisCountersOptions {
  log: Logger
  observer: Pick<Metrics, 'batchSent' | 'redisFailed'>
  /** A time to go by in place of the server's own, milliseconds since 1970. */
  now?: () => number
}

/**
 * Counters in Redis, one key a subject. What arrives together is one call of one script: one for all on a single
 * server; in a cluster one for each workspace, project and environment, whose keys stand together.
 * A call that fails is answered 503, and nothing is sent twice that may have been run.
 * @param setting `REDIS_URL`.
 * @throws {RedisRefused} when a server answers and will not do. One that cannot be reached is waited for.
 */
export async function openRedisCounters(
  setting: string,
  { log, observer, now }: RedisCountersOptions,
): Promise<CounterStore> {
  const link = await openLink(seedsOf(setting), watchOutages(log))
  const ask = async (group: string, checks: readonly Check[]) => {
    const batch = toBatch(checks)
    try {
      return await link.run(group, batch.keys, [batch.checks, String(now?.() ?? '')])
    } catch (error) {
      observer.redisFailed()
      throw new Refusal('unavailable', '', { cause: error })
    }
  }
  const gather = openGather<Check, Tally>({
    groupOf: check => link.groupOf(tagOf(check)),
    machineOf: link.placeOf,
    bytesOf,
    async send(group, checks) {
      observer.batchSent('ratelimit', checks.length)
      return toTallies((await ask(group, checks)) as number[], checks)
    },
  })
  return {
    check: gather.run,
    depth: gather.depth,
    async close() {
      await gather.close()
      link.close()
    },
  }
}
