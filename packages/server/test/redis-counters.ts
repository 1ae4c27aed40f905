import { randomUUID } from 'node:crypto'
import { after } from 'node:test'
import { systemClock } from '../src/platform/clock.ts'
import { createLog } from '../src/platform/observe/log.ts'
import { uncounted } from '../src/platform/observe/metrics.ts'
import { Refusal } from '../src/platform/refusal.ts'
import type { Check } from '../src/ratelimit/fold.ts'
import {
  openRedisCounters,
  type RedisCounters,
  type RedisCountersOptions,
} from '../src/ratelimit/redis/redis.ts'
import type { CounterStore } from '../src/ratelimit/store.ts'

/** Counters in a Redis, with what they have logged so far; closed when the test file ends. */
export interface WatchedCounters {
  store: RedisCounters
  /** Lines of the log, parsed. */
  logged: { level: string; msg: string; redis?: string; err?: { message: string } }[]
  /** How many checks each call carried. */
  batches: number[]
  failures(): number
}

/** Every workspace is proven, and every id is real. */
export const withoutDatabase: Pick<RedisCountersOptions, 'limit' | 'factsOf' | 'inventedOf' | 'monotonic'> = {
  limit: 1_000_000,
  factsOf: async id => ({ isProven: true, projectIds: [], workspaceIds: [id], projects: 0 }),
  inventedOf: async () => [],
  monotonic: systemClock.monotonic,
}

export async function openWatched(
  url: string,
  now?: () => number,
  over: Partial<RedisCountersOptions> = {},
): Promise<WatchedCounters> {
  const logged: WatchedCounters['logged'] = []
  const batches: number[] = []
  let failures = 0
  const store = await openRedisCounters(url, {
    log: createLog('info', { write: line => void logged.push(JSON.parse(line)) }),
    observer: {
      ...uncounted,
      batchSent: (_lane, items) => void batches.push(items),
      redisFailed: () => {
        failures += 1
      },
    },
    ...withoutDatabase,
    ...(now !== undefined && { now }),
    ...over,
  })
  after(() => store.close())
  return { store, logged, batches, failures: () => failures }
}

/** A check of a new project, with one limit that no test reaches. */
export const someCheck = (over: Partial<Check> = {}): Check => ({
  workspaceId: randomUUID(),
  projectId: randomUUID(),
  env: 'live',
  keyId: randomUUID(),
  tenantId: null,
  cost: 1,
  rules: [{ id: 'many', limit: 1_000_000, window_ms: 2_678_400_000, algorithm: 'fixed', scope: 'key' }],
  ...over,
})

/** A master refuses all commands, because it believes that too many nodes of its cluster are down. */
export const isClusterDown = (error: unknown) =>
  isUnavailable(error) && error.cause instanceof Error && error.cause.message.startsWith('CLUSTERDOWN')

export const isUnavailable = (error: unknown): error is Refusal =>
  error instanceof Refusal && error.code === 'unavailable'

/** Whether a check is answered; a 503 is not, and anything else is an error. */
export async function isAnswered(store: CounterStore, check: Check = someCheck()): Promise<boolean> {
  try {
    await store.check(check)
    return true
  } catch (error) {
    if (isUnavailable(error)) return false
    throw error
  }
}
