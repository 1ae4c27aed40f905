import { requestOutcomes } from '../packages/server/src/platform/observe/metrics.ts'

/** Series for a rule in promtool's notation, at one sample a minute: of one it fires, of the other it does not. */
export interface AlertCase {
  readonly fires: Readonly<Record<string, string>>
  readonly quiet: Readonly<Record<string, string>>
  /** When the rule is looked at. */
  readonly at: string
  /** The labels of the alert, besides the severity. */
  readonly more?: Readonly<Record<string, string>>
}

const of = 'job="keyrail", instance="a"'
const instance = { instance: 'a' }
const job = { job: 'keyrail' }
const both = { ...job, ...instance }

/** A figure of one process that has one value at all times. */
const steady = (name: string, bad: string, good: string, at: string): AlertCase => ({
  fires: { [`${name}{${of}}`]: `${bad}x70` },
  quiet: { [`${name}{${of}}`]: `${good}x70` },
  at,
  more: both,
})

/** A figure of the database, which every process shows: two of them make one alert. */
const shared = (name: string, labels: string, bad: string, good: string, at: string): AlertCase => {
  const series = (values: string) => ({
    [`${name}{${of}${labels}}`]: values,
    [`${name}{job="keyrail", instance="b"${labels}}`]: values,
  })
  return { fires: series(`${bad}x70`), quiet: series(`${good}x70`), at, more: job }
}

/** A histogram with ten observations a minute, all below a bound. The others are its buckets. */
const histogram = (
  name: string,
  labels: string,
  bounds: string[],
  bad: string,
  good: string,
  more: AlertCase['more'],
) => {
  const series = (below: string) =>
    Object.fromEntries(
      [...bounds, '+Inf'].map(le => [
        `${name}_bucket{${of}${labels}, le="${le}"}`,
        le === '+Inf' || Number(le) >= Number(below) ? '0+10x70' : '0x70',
      ]),
    )
  return { fires: series(bad), quiet: series(good), at: '40m', ...(more && { more }) }
}

const refused = (reason: string) => `keyrail_database_refusals_total{${of}, reason="${reason}"}`
/** Requests of one process by outcome, all from 0 as a process shows them. */
const outcomes = (values: Readonly<Record<string, string>>, instance = 'a') =>
  Object.fromEntries(
    requestOutcomes.map(outcome => [
      `keyrail_requests_total{job="keyrail", instance="${instance}", outcome="${outcome}"}`,
      values[outcome] ?? '0x70',
    ]),
  )
const build = (instance: string, version: string) =>
  `keyrail_build_info{job="keyrail", instance="${instance}", version="${version}", node="v24.0.0"}`
const created = `keyrail_workspaces_created_total{${of}}`

/** The cases of each alert, in the order of the rules. */
export const alertCases: Readonly<Record<string, AlertCase>> = {
  KeyrailAway: steady('up', '0', '1', '5m'),
  KeyrailGone: {
    // From minute 3 on there is no target.
    fires: { [`up{${of}}`]: '1 1 1 _ _ _ _ _ _ _ _ _ _' },
    // One of two answers.
    quiet: { [`up{${of}}`]: '0x12', 'up{job="keyrail", instance="b"}': '1x12' },
    at: '11m',
    more: {},
  },
  KeyrailDatabaseDown: steady('keyrail_database_up', '0', '1', '5m'),
  KeyrailDatabaseIsStandby: steady('keyrail_database_in_recovery', '1', '0', '5m'),
  KeyrailStandbyAway: shared('keyrail_degraded', ', reason="standby_away"', '1', '0', '5m'),
  KeyrailDatabaseDiskFull: {
    fires: { [refused('disk_full')]: '0 0 0 4 4 4' },
    quiet: { [refused('disk_full')]: '4x10', [refused('too_many_connections')]: '0+5x10' },
    at: '5m',
    more: { ...both, reason: 'disk_full' },
  },
  KeyrailDatabaseReadOnly: {
    fires: { [refused('read_only')]: '0+3x20' },
    // A failover.
    quiet: { [refused('read_only')]: '0 0 4 4x20', [refused('disk_full')]: '0+5x20' },
    at: '12m',
    more: { ...both, reason: 'read_only' },
  },
  KeyrailDatabaseFailing: {
    fires: { [refused('io_error')]: '0 0 0 1 1 1' },
    quiet: { [refused('io_error')]: '1x10', [refused('disk_full')]: '0+5x10' },
    at: '5m',
    more: { ...both, reason: 'io_error' },
  },
  KeyrailDatabaseConnections: {
    fires: { [refused('too_many_connections')]: '0 0 3 9 9 9' },
    quiet: { [refused('too_many_connections')]: '9x10', [refused('disk_full')]: '0+5x10' },
    at: '5m',
    more: { ...both, reason: 'too_many_connections' },
  },
  KeyrailUnavailable: {
    // Three of each kind in 200 a minute.
    fires: outcomes({ answered: '0+194x30', turned_away: '0+3x30', unavailable: '0+3x30' }),
    // 20 of 3,000 a minute; beside it a process with so few requests that one is a large part.
    quiet: {
      ...outcomes({ answered: '0+2980x30', unavailable: '0+20x30' }),
      ...outcomes({ answered: '0+3x30', turned_away: '0+1x30' }, 'b'),
    },
    at: '15m',
    more: instance,
  },
  KeyrailFailing: {
    // The first 500 of a process.
    fires: outcomes({ answered: '0+5x6', failed: '0 0 1 1 1 1 1' }),
    quiet: outcomes({ answered: '0+5x6', failed: '3x6' }),
    at: '4m',
    more: instance,
  },
  KeyrailRestarting: {
    fires: { [`process_start_time_seconds{${of}}`]: '10 10 130 130 250 250 400x20' },
    // Two in an upgrade that is taken back.
    quiet: { [`process_start_time_seconds{${of}}`]: '10 10 130 130 250x20' },
    at: '10m',
    more: both,
  },
  KeyrailTwoReleases: {
    fires: { [build('a', '0.1.0')]: '1x90', [build('b', '0.2.0')]: '1x90' },
    // An upgrade of half an hour, of two processes.
    quiet: {
      [build('a', '0.1.0')]: '1x10 _x80',
      [build('a', '0.2.0')]: '_x10 1x80',
      [build('b', '0.1.0')]: '1x40 _x50',
      [build('b', '0.2.0')]: '_x40 1x50',
    },
    at: '80m',
    more: job,
  },
  KeyrailSlow: histogram(
    'http_server_request_duration_seconds',
    ', method="GET", route="/v1/keys", status="200"',
    ['0.1', '1', '2.5'],
    '2.5',
    '0.1',
    instance,
  ),
  KeyrailPoolWaiting: {
    fires: { [`keyrail_pool_waiting{${of}}`]: '3x20' },
    quiet: { [`keyrail_pool_waiting{${of}}`]: '3 0 3 3 0 3 3 3 0 3 3' },
    at: '10m',
    more: both,
  },
  KeyrailLaneFailing: {
    fires: { [`keyrail_lane_errors_total{${of}, lane="credential"}`]: '0+30x20' },
    quiet: { [`keyrail_lane_errors_total{${of}, lane="credential"}`]: '0 1 1 2 2 2x15' },
    at: '15m',
    more: { ...instance, lane: 'credential' },
  },
  KeyrailLaneSlow: histogram(
    'keyrail_lane_duration_seconds',
    ', lane="session"',
    ['0.1', '1', '2.5'],
    '2.5',
    '0.1',
    {
      ...instance,
      lane: 'session',
    },
  ),
  KeyrailLaneReconnecting: {
    fires: { [`keyrail_lane_reconnects_total{${of}, lane="session"}`]: '0+10x30' },
    // A restart of the database: every lane once.
    quiet: { [`keyrail_lane_reconnects_total{${of}, lane="session"}`]: '0x10 19x20' },
    at: '20m',
    more: instance,
  },
  KeyrailHintsUnheard: {
    // Time begins at 0. The process is deaf from minute 10 on.
    fires: { [`keyrail_hints_heard_timestamp_seconds{${of}}`]: '0+60x10 600x10' },
    quiet: { [`keyrail_hints_heard_timestamp_seconds{${of}}`]: '0+60x20' },
    at: '13m',
    more: both,
  },
  KeyrailEventLoopSlow: steady('nodejs_eventloop_lag_p99_seconds', '0.8', '0.02', '15m'),
  KeyrailConnectionsRefused: {
    fires: { [`keyrail_connections_refused_total{${of}}`]: '0 0 0 5 9 9' },
    quiet: { [`keyrail_connections_refused_total{${of}}`]: '9x10' },
    at: '5m',
    more: both,
  },
  KeyrailRedisFailing: {
    fires: { [`keyrail_redis_failures_total{${of}}`]: '0+20x20' },
    quiet: { [`keyrail_redis_failures_total{${of}}`]: '4x20' },
    at: '10m',
    more: both,
  },
  KeyrailRedisMemory: shared('keyrail_redis_memory_ratio', '', '0.85', '0.6', '10m'),
  KeyrailNodesBehind: shared('keyrail_nodes_oldest_missed_change_seconds', '', '200', '4', '5m'),
  KeyrailPropagationSlow: histogram(
    'keyrail_policy_propagation_seconds',
    '',
    ['5', '30', '60'],
    '60',
    '5',
    job,
  ),
  KeyrailNodesGone: {
    fires: { [`keyrail_nodes{${of}, state="live"}`]: '5x20 0x20' },
    quiet: {
      [`keyrail_nodes{${of}, state="live"}`]: '0x40',
      [`keyrail_nodes{${of}, state="silent"}`]: '5x40',
    },
    at: '30m',
    more: job,
  },
  KeyrailNodesFull: shared('keyrail_nodes', ', state="full"', '2', '0', '10m'),
  KeyrailMailStuck: shared('keyrail_mail_queue_oldest_seconds', '', '4000', '60', '10m'),
  KeyrailMailGivenUp: {
    fires: { [`keyrail_mail_total{${of}, kind="reset_password", outcome="given_up"}`]: '0x10 1x20' },
    quiet: { [`keyrail_mail_total{${of}, kind="reset_password", outcome="failed"}`]: '0+1x30' },
    at: '20m',
    more: { kind: 'reset_password' },
  },
  KeyrailUpkeepStopped: {
    // Time begins at 0. The last of the two processes had its turn at minute 10.
    fires: {
      [`keyrail_upkeep_last_success_timestamp_seconds{${of}}`]: '0+60x10 600x80',
      'keyrail_upkeep_last_success_timestamp_seconds{job="keyrail", instance="b"}': '0x90',
    },
    quiet: {
      [`keyrail_upkeep_last_success_timestamp_seconds{${of}}`]: '0x90',
      'keyrail_upkeep_last_success_timestamp_seconds{job="keyrail", instance="b"}': '0+60x90',
    },
    at: '70m',
    more: job,
  },
  KeyrailBackupLate: {
    // Time begins at 0, and the interval is ten minutes. Backups are written; the last one that passed was at minute 10. From
    // minute 30 on the process that makes them is away.
    fires: {
      'keyrail_backup_interval_seconds{job="keyrail-backup"}': '600x30 _x90',
      'keyrail_backup_last_success_timestamp_seconds{job="keyrail-backup"}': '0+60x30 _x90',
      'keyrail_backup_last_checked_timestamp_seconds{job="keyrail-backup"}': '600x30 _x90',
    },
    // One is an hour late, which a long backup may be.
    quiet: {
      'keyrail_backup_interval_seconds{job="keyrail-backup"}': '600x120',
      'keyrail_backup_last_checked_timestamp_seconds{job="keyrail-backup"}': '0+0x40 2400x80',
    },
    at: '110m',
  },
  KeyrailChainBroken: shared('keyrail_audit_chains', ', state="broken"', '1', '0', '1m'),
  KeyrailChainsUnverified: shared('keyrail_audit_verification_overdue_seconds', '', '90000', '3000', '65m'),
  KeyrailNearLimit: {
    ...shared('keyrail_workspace_limit_ratio', ', limit="counters"', '0.95', '0.5', '20m'),
    fires: { [`keyrail_workspace_limit_ratio{${of}, limit="counters"}`]: '0.95x30' },
    more: { ...instance, limit: 'counters' },
  },
  KeyrailSecurityEventsDropped: {
    fires: { [`keyrail_security_events_dropped_total{${of}}`]: '0 0 0 8 8 8' },
    quiet: { [`keyrail_security_events_dropped_total{${of}}`]: '8x10' },
    at: '5m',
    more: both,
  },
  KeyrailLogLinesDropped: {
    fires: { [`keyrail_log_lines_dropped_total{${of}}`]: '0 0 0 400 900 900' },
    quiet: { [`keyrail_log_lines_dropped_total{${of}}`]: '900x10' },
    at: '5m',
    more: both,
  },
  // 20 and 22 days.
  KeyrailCertificateExpires: steady(
    'keyrail_tls_certificate_expiry_timestamp_seconds',
    '1728000',
    '1900800',
    '65m',
  ),
  KeyrailManyWorkspaces: {
    // All at once, as the first that a process creates.
    fires: { [created]: '0x10 30x60' },
    quiet: { [created]: '0 1 2 3x60' },
    at: '40m',
    more: job,
  },
  KeyrailDeadlocks: {
    fires: { [`keyrail_deadlocks_retried_total{${of}}`]: '0 0 1 1 1 1' },
    quiet: { [`keyrail_deadlocks_retried_total{${of}}`]: '1x10' },
    at: '5m',
    more: both,
  },
}
