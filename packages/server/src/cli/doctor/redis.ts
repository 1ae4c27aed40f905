import type { Config } from '../../config.ts'
import { readFacts } from '../../ratelimit/redis/facts.ts'
import { RedisRefused, seedsOf } from '../../ratelimit/redis/seeds.ts'
import { explain } from '../failure.ts'
import type { Check } from './check.ts'

const name = 'redis'
/** As the alert on the metric. */
const fullPart = 0.8

/** Checks the Redis of the rate-limit counters, if there is one. */
export async function checkRedis({ redisUrl }: Pick<Config, 'redisUrl'>): Promise<Check[]> {
  if (redisUrl === null) return []
  try {
    const { seed, version, isCluster, eviction, usedPart, keeps } = await readFacts(seedsOf(redisUrl), true)
    const message = `${isCluster ? 'Redis Cluster' : 'Redis'} ${version} at ${seed.place}`
    if (eviction !== null) {
      const todo = 'Set maxmemory-policy noeviction: an evicted counter starts again from zero.'
      return [
        { name, status: 'warning', message: `${message}, which may evict counters (${eviction})`, todo },
      ]
    }
    if (usedPart !== null && usedPart > fullPart) {
      const todo =
        'Give it more memory, or lower SERVICE_MAX_COUNTERS_PER_WORKSPACE: a full server takes no new counters.'
      const used = `${message}, which uses ${Math.floor(100 * usedPart)} % of its maxmemory`
      return [{ name, status: 'warning', message: used, todo }]
    }
    if (keeps === 'nothing') {
      const todo =
        'Set appendonly yes, or save with intervals: after a restart each limit may be used once more.'
      return [{ name, status: 'warning', message: `${message}, which keeps nothing on its disk`, todo }]
    }
    const unknown =
      keeps === 'unknown'
        ? '; it has no append-only file, and does not report whether it saves snapshots'
        : ''
    return [{ name, status: 'ok', message: message + unknown }]
  } catch (error) {
    const reason = explain(error)
    const message = error instanceof RedisRefused ? reason : `Redis cannot be reached: ${reason}`
    return [{ name, status: 'fault', message }]
  }
}
