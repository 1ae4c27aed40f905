import type { Deps } from './deps.ts'
import type { Lookup } from './gate/lookup.ts'

type Watched = Pick<
  Deps,
  | 'metrics'
  | 'config'
  | 'db'
  | 'policy'
  | 'counters'
  | 'idempotency'
  | 'largeBodies'
  | 'signedBodies'
  | 'passwords'
  | 'accounts'
  | 'usageReports'
  | 'findLeaked'
  | 'securityEvents'
> & { readonly lookup: Lookup }

/** Figures that are read at each scrape: how much of what is bounded is taken, and who waits for it. */
export function watchDepths(watched: Watched): void {
  const { metrics, config, db, lookup, policy, counters, idempotency } = watched
  const { largeBodies, signedBodies, passwords, accounts, usageReports, findLeaked, securityEvents } = watched

  metrics.watch('keyrail_pool_connections', 'Connections of the management pool.', () => {
    const { total, idle } = db.depth()
    return [
      { labels: { state: 'busy' }, value: total - idle },
      { labels: { state: 'idle' }, value: idle },
    ]
  })
  metrics.watch('keyrail_pool_waiting', 'Callers that wait for a connection.', () => [
    { value: db.depth().waiting },
  ])
  metrics.watch(
    'keyrail_pool_waiting_parties',
    'Workspaces, people and others in whose name callers wait.',
    () => [{ value: db.depth().parties }],
  )
  metrics.watch('keyrail_held_polls', 'Polls that are held until something changes.', () => [
    { value: policy.watch.held().all },
  ])
  metrics.watch(
    'keyrail_workspace_limit_ratio',
    'How near the workspace that is nearest to a limit is to it; 1 is at the limit.',
    () => [
      { labels: { limit: 'stored_answer_bytes' }, value: idempotency.storedBytes.nearest() },
      { labels: { limit: 'counters' }, value: counters.nearestToLimit?.() ?? 0 },
      {
        labels: { limit: 'held_polls' },
        value: policy.watch.held().mostOfOne / Math.max(1, config.maxHeldPollsPerWorkspace),
      },
    ],
  )
  metrics.watch('keyrail_large_bytes', 'Bytes of large bodies and answers under way.', () => [
    { value: largeBodies.held() + signedBodies.held() },
  ])
  metrics.watch('keyrail_passwords_waiting', 'Callers that wait for a thread that hashes.', () => [
    { value: passwords.waiting() },
  ])
  metrics.watch('keyrail_lane_waiting', 'Items that wait for a statement of a lane.', () => [
    { labels: { lane: 'credential' }, value: lookup.find.depth() },
    { labels: { lane: 'last_used' }, value: lookup.touch.depth() },
    { labels: { lane: 'session' }, value: lookup.sessions.depth() },
    { labels: { lane: 'session_seen' }, value: lookup.touchSession.depth() },
    { labels: { lane: 'embed_standing' }, value: lookup.standing.depth() },
    { labels: { lane: 'account' }, value: accounts.depth() },
    { labels: { lane: 'policy_head' }, value: policy.heads.depth() },
    { labels: { lane: 'policy_nodes' }, value: policy.nodes.depth() },
    { labels: { lane: 'ratelimit' }, value: counters.depth() },
    { labels: { lane: 'idempotency_claim' }, value: idempotency.claims.depth() },
    { labels: { lane: 'idempotency_end' }, value: idempotency.ends.depth() },
    { labels: { lane: 'idempotency_answer' }, value: idempotency.answers.depth() },
    { labels: { lane: 'usage_report' }, value: usageReports.depth() },
    { labels: { lane: 'leaked' }, value: findLeaked.depth() },
    { labels: { lane: 'security_event' }, value: securityEvents.depth() },
  ])
}
