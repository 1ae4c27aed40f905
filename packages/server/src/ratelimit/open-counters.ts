import { systemClock } from '../platform/clock.ts'
import { mostWaiting } from '../platform/concurrency/batching.ts'
import { partOf } from '../platform/concurrency/part-of.ts'
import type { Lanes } from '../platform/db/lanes/lanes.ts'
import type { Errands } from '../platform/db/pool/errands.ts'
import type { Logger } from '../platform/observe/log.ts'
import type { Metrics } from '../platform/observe/metrics.ts'
import { openCounterRows } from './counter-rows.ts'
import { openPostgresCounters } from './postgres.ts'
import { databaseOf } from './redis/database.ts'
import type { CounterStore } from './store.ts'

interface CounterSettings {
  readonly redisUrl: string | null
  readonly maxCountersPerWorkspace: number
  readonly processes: number
  readonly valueFiles: { readonly redisUrl?: string }
}

/** The store of the counters that the settings name. Loads the Redis library only if there is a Redis. */
export async function openCounters(
  settings: CounterSettings,
  store: { lanes: Lanes; errands: Errands; requestMs: number },
  log: Logger,
  metrics: Metrics,
): Promise<CounterStore> {
  const { redisUrl, maxCountersPerWorkspace, valueFiles } = settings
  if (redisUrl === null) {
    const rows = openCounterRows(store.errands, maxCountersPerWorkspace, systemClock, log)
    return openPostgresCounters(store.lanes, rows)
  }
  const { openRedisCounters, laneName } = await import('./redis/redis.ts')
  const counters = await openRedisCounters(redisUrl, {
    file: valueFiles.redisUrl,
    log,
    observer: metrics,
    limit: maxCountersPerWorkspace,
    ...databaseOf(store.errands),
    monotonic: systemClock.monotonic,
    requestMs: store.requestMs,
    pendingMost: partOf(mostWaiting, settings.processes),
  })
  store.lanes.measure(laneName, counters.depth)
  return counters
}
