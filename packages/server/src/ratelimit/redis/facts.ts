import { Redis } from 'ioredis'
import { connectionOptions } from './node.ts'
import { RedisRefused, type Seed } from './seeds.ts'

/** What a server reports about itself. */
export interface RedisFacts {
  seed: Seed
  version: string
  isCluster: boolean
  /** Which keys the server evicts when its memory is full, such as `allkeys-lru`; null: none. */
  eviction: string | null
  /** The used part of the server's `maxmemory`; null: there is no `maxmemory`. */
  usedPart: number | null
  /**
   * What a restart of the server finds again: an append-only file, snapshots, or neither. `unknown`: not asked, or not
   * answered.
   */
  keeps: 'file' | 'snapshots' | 'nothing' | 'unknown'
}

/**
 * Asks the seeds in their order. The first seed that answers stands for all.
 * @param readsSettings whether to ask for settings too, for which the service's user needs no right.
 * @throws {RedisRefused} when the server answers and cannot be used.
 * @throws the error of the last seed when no seed can be reached.
 */
export async function readFacts(seeds: readonly Seed[], readsSettings = false): Promise<RedisFacts> {
  let last: unknown
  for (const seed of seeds) {
    try {
      return judge(seed, await readInfo(seed, readsSettings))
    } catch (error) {
      if (error instanceof RedisRefused) throw error
      last = error
    }
  }
  throw last
}

/** Errors that a retry does not change: the server rejects the credentials or the database number. */
const turnedAway =
  /^(WRONGPASS|NOAUTH|NOPERM|ERR AUTH|ERR Client sent AUTH|ERR invalid (password|DB)|ERR DB index)/

/** The name of a setting beside the lines of INFO, whose names have no space. */
const saveSetting = 'config save'

async function readInfo(
  { place, options, login }: Seed,
  readsSettings: boolean,
): Promise<Map<string, string>> {
  const redis = new Redis({
    ...connectionOptions,
    ...options,
    ...login(),
    lazyConnect: true,
    enableReadyCheck: false,
    retryStrategy: null,
  })
  let reported: unknown
  redis.on('error', error => {
    reported ??= error
  })
  try {
    await redis.connect()
    const text = await redis.info('server', 'cluster', 'memory', 'persistence')
    // Providers forbid reading the setting, and a user may lack the right.
    const save = readsSettings ? await redis.config('GET', 'save').catch(() => []) : []
    // If the database does not exist, the library only emits the error, and uses database 0.
    if (reported !== undefined) throw reported
    const lines = text.split('\r\n').map(line => line.split(/:(.*)/s) as [string, string])
    const [, intervals] = save as string[]
    return new Map(intervals === undefined ? lines : [...lines, [saveSetting, intervals]])
  } catch (error) {
    throw explained(place, reported ?? error)
  } finally {
    redis.disconnect()
  }
}

function explained(place: string, error: unknown): unknown {
  if (!(error instanceof Error)) return error
  if (turnedAway.test(error.message))
    return new RedisRefused(`The Redis at ${place} rejects the login: ${error.message}`)
  if (/^Protocol error|^Unknown RESP type/.test(error.message))
    return new RedisRefused(`The server at ${place} is not a Redis: check the port in REDIS_URL.`)
  if (/CERT|VERIFY/.test(String((error as { code?: unknown }).code)))
    return new RedisRefused(`The certificate of the Redis at ${place} is not trusted: ${error.message}`)
  return error
}

function judge(seed: Seed, info: ReadonlyMap<string, string>): RedisFacts {
  const version = info.get('redis_version') ?? 'an unknown version'
  const mode = info.get('redis_mode')
  if (!(Number.parseInt(version, 10) >= 7))
    throw new RedisRefused(
      `The Redis at ${seed.place} is ${version}; rate-limit counters need Redis or Valkey 7 or later.`,
    )
  if (mode === 'sentinel')
    throw new RedisRefused(`The server at ${seed.place} is a Sentinel; REDIS_URL must name the Redis itself.`)
  const isCluster = info.get('cluster_enabled') === '1'
  if (isCluster && seed.options.db !== 0)
    throw new RedisRefused('A Redis Cluster has only database 0; remove the path from REDIS_URL.')
  const policy = info.get('maxmemory_policy') ?? 'noeviction'
  const most = Number(info.get('maxmemory') ?? 0)
  return {
    seed,
    version,
    isCluster,
    eviction: policy === 'noeviction' ? null : policy,
    usedPart: most > 0 ? Number(info.get('used_memory') ?? 0) / most : null,
    keeps: keepsOf(info),
  }
}

function keepsOf(info: ReadonlyMap<string, string>): RedisFacts['keeps'] {
  if (info.get('aof_enabled') === '1') return 'file'
  const save = info.get(saveSetting)
  if (save === undefined) return 'unknown'
  return save === '' ? 'nothing' : 'snapshots'
}
