import { degradations } from '@keyrail/contract/health'
import type { Config } from './config.ts'
import type { Idempotency } from './idempotency/service.ts'
import type { Passwords } from './platform/crypto/password.ts'
import type { Lanes } from './platform/db/lanes.ts'
import type { Pool } from './platform/db/pool.ts'
import type { Readiness } from './platform/db/readiness.ts'
import type { LargeBodies } from './platform/http/large-bodies.ts'
import { linesDropped } from './platform/log.ts'
import type { Metrics } from './platform/metrics.ts'
import type { PolicyFeed } from './policy/service.ts'
import type { CounterStore } from './ratelimit/store.ts'

/** Everything whose use is measured. */
interface Watched {
  readonly metrics: Pick<Metrics, 'watch' | 'watchTotal' | 'beforeScrape'>
  readonly config: Pick<Config, 'maxHeldPollsPerWorkspace'>
  readonly pool: Pick<Pool, 'depth'>
  readonly lanes: Pick<Lanes, 'depths'>
  readonly readiness: Readiness
  readonly policy: Pick<PolicyFeed, 'watch'>
  readonly counters: Pick<CounterStore, 'nearestToLimit' | 'readMemory'>
  readonly idempotency: Pick<Idempotency, 'storedBytes'>
  readonly largeBodies: Pick<LargeBodies, 'held'>
  readonly signedBodies: Pick<LargeBodies, 'held'>
  readonly passwords: Pick<Passwords, 'waiting'>
}

/** Metrics that are read at each scrape: the use of bounded resources, and the queues for them. */
export function watchDepths(watched: Watched): void {
  const { metrics, config, pool, lanes, policy, counters, idempotency } = watched
  const { readiness, largeBodies, signedBodies, passwords } = watched

  metrics.watchTotal(
    'keyrail_log_lines_dropped_total',
    'Log lines dropped, because standard output took no more.',
    linesDropped,
  )
  // Other figures show a database that does not answer.
  metrics.beforeScrape(async () => void (await readiness.check().catch(() => {})))
  metrics.watch('keyrail_degraded', 'Why `/readyz` says `degraded`: 1 while it does, else 0.', () =>
    degradations.map(reason => ({ labels: { reason }, value: readiness.degraded() === reason ? 1 : 0 })),
  )
  metrics.watch('keyrail_pool_connections', 'Connections of the management pool.', () => {
    const { total, idle } = pool.depth()
    return [
      { labels: { state: 'busy' }, value: total - idle },
      { labels: { state: 'idle' }, value: idle },
    ]
  })
  metrics.watch('keyrail_pool_waiting', 'Requests that wait for a connection.', () => [
    { value: pool.depth().waiting },
  ])
  metrics.watch('keyrail_pool_waiting_parties', 'Workspaces, people and others whose requests wait.', () => [
    { value: pool.depth().parties },
  ])
  metrics.watch('keyrail_held_polls', 'Polls that are held until there is a change.', () => [
    { value: policy.watch.held().all },
  ])
  metrics.watch(
    'keyrail_workspace_limit_ratio',
    'How near any workspace is to a limit; 1 is at the limit.',
    () => [
      { labels: { limit: 'stored_answer_bytes' }, value: idempotency.storedBytes.nearest() },
      { labels: { limit: 'counters' }, value: counters.nearestToLimit() },
      {
        labels: { limit: 'held_polls' },
        value: policy.watch.held().mostOfOne / Math.max(1, config.maxHeldPollsPerWorkspace),
      },
    ],
  )
  watchRedis(metrics, counters)
  metrics.watch('keyrail_large_bytes', 'Bytes of large bodies and responses in memory.', () => [
    { value: largeBodies.held() + signedBodies.held() },
  ])
  metrics.watch('keyrail_passwords_waiting', 'Requests that wait for a hashing thread.', () => [
    { value: passwords.waiting() },
  ])
  metrics.watch('keyrail_lane_waiting', 'Items that wait for a statement of a lane.', () =>
    lanes.depths().map(({ lane, waiting }) => ({ labels: { lane }, value: waiting })),
  )
}

/** 0 stands for a share that is unknown: there is no Redis, it has no `maxmemory`, or it does not answer. */
function watchRedis(metrics: Watched['metrics'], { readMemory }: Watched['counters']): void {
  let usedPart = 0
  if (readMemory !== undefined)
    metrics.beforeScrape(async () => {
      usedPart = (await readMemory()) ?? 0
    })
  metrics.watch('keyrail_redis_memory_ratio', 'Used part of the maxmemory of the fullest Redis.', () => [
    { value: usedPart },
  ])
}
