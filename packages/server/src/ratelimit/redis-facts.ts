import { Redis } from 'ioredis'
import { connectionOptions } from './redis-node.ts'
import { RedisRefused, type Seed } from './redis-seeds.ts'

/** What a server says of itself. */
export interface RedisFacts {
  seed: Seed
  version: string
  isCluster: boolean
  /** What it throws away when its memory is full, such as `allkeys-lru`; null: nothing. */
  eviction: string | null
}

/**
 * Asks the seeds in their order; the first that answers tells what all are.
 * @throws {RedisRefused} when it answers and will not do.
 * @throws when none can be reached, the error of the last.
 */
export async function readFacts(seeds: readonly Seed[]): Promise<RedisFacts> {
  let last: unknown
  for (const seed of seeds) {
    try {
      return judge(seed, await readInfo(seed))
    } catch (error) {
      if (error instanceof RedisRefused) throw error
      last = error
    }
  }
  throw last
}

/** Errors by which a server turns us away, whenever it is asked. */
const turnedAway =
  /^(WRONGPASS|NOAUTH|NOPERM|ERR AUTH|ERR Client sent AUTH|ERR invalid (password|DB)|ERR DB index)/

async function readInfo({ place, options }: Seed): Promise<Map<string, string>> {
  const redis = new Redis({
    ...connectionOptions,
    ...options,
    lazyConnect: true,
    enableReadyCheck: false,
    retryStrategy: null,
  })
  let told: unknown
  redis.on('error', error => {
    told ??= error
  })
  try {
    await redis.connect()
    const text = await redis.info('server', 'cluster', 'memory')
    // A database that there is not is told by the way, and the first one taken in its place.
    if (told !== undefined) throw told
    return new Map(text.split('\r\n').map(line => line.split(/:(.*)/s) as [string, string]))
  } catch (error) {
    throw explained(place, told ?? error)
  } finally {
    redis.disconnect()
  }
}

function explained(place: string, error: unknown): unknown {
  if (!(error instanceof Error)) return error
  if (turnedAway.test(error.message))
    return new RedisRefused(`The Redis at ${place} does not let us in: ${error.message}`)
  if (/^Protocol error|^Unknown RESP type/.test(error.message))
    return new RedisRefused(`What answers at ${place} is no Redis: REDIS_URL leads to the wrong port.`)
  if (/CERT|VERIFY/.test(String((error as { code?: unknown }).code)))
    return new RedisRefused(`The certificate of the Redis at ${place} is not trusted: ${error.message}`)
  return error
}

function judge(seed: Seed, info: ReadonlyMap<string, string>): RedisFacts {
  const version = info.get('redis_version') ?? 'of no version'
  const mode = info.get('redis_mode')
  if (!(Number.parseInt(version, 10) >= 7))
    throw new RedisRefused(
      `The Redis at ${seed.place} is ${version}; rate-limit counters need Redis or Valkey 7 or later.`,
    )
  if (mode === 'sentinel')
    throw new RedisRefused(`At ${seed.place} is a Sentinel; REDIS_URL must lead to the Redis itself.`)
  const isCluster = info.get('cluster_enabled') === '1'
  if (isCluster && seed.options.db !== 0)
    throw new RedisRefused('A Redis Cluster has no database but 0; take the path off REDIS_URL.')
  const policy = info.get('maxmemory_policy') ?? 'noeviction'
  const isBounded = (info.get('maxmemory') ?? '0') !== '0'
  return { seed, version, isCluster, eviction: isBounded && policy !== 'noeviction' ? policy : null }
}
