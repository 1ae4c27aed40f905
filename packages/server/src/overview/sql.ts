import type { Env } from '@keyrail/contract/shared'
import { activeKeysMax, attentionMax, examplesMax } from '@keyrail/contract/vendor/overview'
import { isActiveSql } from '../lifecycle/active.ts'
import { firstIdAtSql } from '../lifecycle/lifetime.ts'
import { sql } from '../platform/db/connection.ts'
import { versionSql } from '../platform/db/failover/raised.ts'
import { readInOrder } from '../platform/db/pool/read-in-order.ts'
import type { ReadTx } from '../platform/db/transaction.ts'
import { isFullSql, isLiveSql } from '../policy/live.ts'

/** Rows that a figure reads at most where no index holds only the rows that count. */
const looksMax = 10_000

/** Each of these has an index with its rows in its order, which `readInOrder` makes Postgres use. Endless keys are the last by expiry. */
const ofEnv = 'k.workspace_id = $1 and k.env = $2 and k.revoked_at is null'
/** A paused key is active, but needs no attention: nothing loses it at its end, and its pause is why it is unused. */
const isWorking = 'k.disabled_at is null'
const endless = { rows: `api_keys k where ${ofEnv} and k.expires_at is null`, order: 'k.expires_at, k.id' }
/** The first of them, so that many paused ones cost no more. */
const firstEndless = `(select * from ${endless.rows} order by ${endless.order} limit ${activeKeysMax + 1}) k`
const workingEndless = { ...endless, rows: `${firstEndless} where ${isWorking}` }
const ending = {
  rows: `api_keys k where ${ofEnv} and k.expires_at > service_now()`,
  order: 'k.expires_at, k.id',
}
const expiring = {
  ...ending,
  rows: `${ending.rows} and k.expires_at <= service_now() + interval '14 days' and ${isWorking}`,
}

/** Keys that may be unused, the longest first: `idle_since` may be up to 7 days before the last use. */
const idle = `(select * from api_keys k where ${ofEnv} and k.idle_since < service_now() - interval '90 days'
     order by k.idle_since, k.id limit ${looksMax})`
const unused = {
  rows: `${idle} k where ${isActiveSql('k', '(select service_now())')}
     and ${isWorking} and coalesce(k.last_used_at, k.idle_since) < (select service_now() - interval '90 days')`,
  order: 'k.idle_since, k.id',
}

const upTo = (most: number, { rows, order }: typeof endless) =>
  `(select count(*)::int from (select from ${rows} order by ${order} limit ${most + 1}) counted)`

/** CASE leaves out a count that the one before it decides. */
const countKeysStatement = sql(
  'overview.count_keys',
  `select c.endless, c.working_endless, case when c.endless > ${activeKeysMax} then 0 else ${upTo(activeKeysMax, ending)} end as ending,
     ${upTo(attentionMax, expiring)} as expiring, c.unused,
     c.unused <= ${attentionMax} and (select count(*)::int from ${idle} looked) = ${looksMax} as is_cut
   from (select e.endless, e.working_endless, ${upTo(attentionMax, unused)} as unused
         from (select count(*)::int as endless, count(*) filter (where ${isWorking})::int as working_endless
               from ${firstEndless}) e offset 0) c`,
)
interface KeyCounts {
  endless: number
  /** Of these, those that are not paused. */
  working_endless: number
  /** 0 where `endless` alone is more than the largest count. */
  ending: number
  expiring: number
  unused: number
  /** Whether more keys may be unused than were read. */
  is_cut: boolean
}
export interface KeyExampleRow {
  id: string
  name: string | null
  display_prefix: string
  project_id: string
  tenant_id: string
  expires_at: Date | null
  last_used_at: Date | null
  created_at: Date
}
const columns =
  'k.id, k.name, k.display_prefix, k.project_id, k.tenant_id, k.expires_at, k.last_used_at, k.created_at'
const examples = (name: string, { rows, order }: typeof endless) =>
  sql(`overview.${name}`, `select ${columns} from ${rows} order by ${order} limit ${examplesMax}`)
const keyExamples = {
  expiring: examples('expiring', expiring),
  unused: examples('unused', unused),
  endless: examples('endless', workingEndless),
}
/** Counts, each one more than its largest when there are more, and examples. */
export async function readKeys(tx: ReadTx, env: Env) {
  tx.send(readInOrder)
  const values = [tx.workspaceId, env]
  const [[counts], expiring, unused, endless] = await Promise.all([
    tx.query<KeyCounts>(countKeysStatement, values),
    tx.query<KeyExampleRow>(keyExamples.expiring, values),
    tx.query<KeyExampleRow>(keyExamples.unused, values),
    tx.query<KeyExampleRow>(keyExamples.endless, values),
  ])
  return { counts: counts as KeyCounts, expiring, unused, endless }
}

/** Projects with a rule, of which this many are looked at. */
const ruledMax = 50
/**
 * The projects share the looks. Ids begin with the time at which a key was made, so the oldest keys of a project are the first in
 * the index of ids.
 */
const tooOldStatement = sql(
  'overview.too_old',
  `select p.id as project_id, f.count, f.looked = p.looks as is_cut
   from (select id, before, ${looksMax} / (count(*) over ())::int as looks from (
           select id, service_now() - make_interval(hours => 24 * max_key_lifetime_days) as before from projects
           where workspace_id = $1 and max_key_lifetime_days is not null and deleted_at is null
           order by id limit ${ruledMax}) ruled) p
   cross join lateral (
     select count(*)::int as looked, count(*) filter (where k.is_old)::int as count from (
       select k.env = $2 and k.created_at < p.before and k.disabled_at is null and ${isActiveSql('k')} as is_old
       from api_keys k where k.workspace_id = $1 and k.project_id = p.id and not k.is_revoked
         and k.id < ${firstIdAtSql('p.before')} order by k.id limit p.looks) k) f
   where f.count > 0 order by f.count desc, p.id limit ${examplesMax}`,
)
export interface TooOldRow {
  project_id: string
  count: number
  /** Whether more keys may be too old than were read. */
  is_cut: boolean
}
export const readTooOld = (tx: ReadTx, env: Env) =>
  tx.query<TooOldRow>(tooOldStatement, [tx.workspaceId, env])

/**
 * Live nodes that hold keys of the environment, each with how far its project is ahead of it. One reading of the nodes makes
 * all figures: two more would double the time.
 */
const fleetStatement = sql(
  'overview.fleet',
  `with looked as materialized (
     select n.project_id, n.node, n.sees, n.version, n.held_keys, n.held_keys_max, n.seen_at from policy_nodes n
     where n.workspace_id = $1 and n.sees in ($2, 'both') limit ${looksMax}
   ),
   fleet as materialized (
     select n.*, greatest(${versionSql('h')} - n.version, 0) as behind, ${isFullSql('n')} as is_full
     from looked n join policy_heads h on h.workspace_id = $1 and h.project_id = n.project_id and not h.project_deleted
     where ${isLiveSql('n')}
   )
   select count(*)::int as live, count(*) filter (where f.behind = 0)::int as current,
     (select count(*) from looked) = ${looksMax} as is_cut,
     coalesce((select json_agg(e) from (
       select * from fleet where behind > 0 order by behind desc, node, sees limit ${examplesMax}) e), '[]') as behind,
     count(*) filter (where f.is_full)::int as full_count,
     coalesce((select json_agg(e) from (
       select * from fleet where is_full order by held_keys::float8 / greatest(held_keys_max, 1) desc, node, sees
       limit ${examplesMax}) e), '[]') as full_nodes
   from fleet f`,
)
export interface Fleet {
  live: number
  current: number
  /** Whether more nodes may be live than were read. */
  is_cut: boolean
  behind: NodeExampleRow[]
  full_count: number
  full_nodes: FullNodeRow[]
}
export interface FullNodeRow {
  project_id: string
  node: string
  sees: Env | 'both'
  held_keys: number
  held_keys_max: number
  /** As JSON has it. */
  seen_at: string
}
export interface NodeExampleRow {
  project_id: string
  node: string
  sees: Env | 'both'
  version: number
  /** As JSON has it. */
  seen_at: string
  behind: number
}
export async function readFleet(tx: ReadTx, env: Env): Promise<Fleet> {
  const [row] = await tx.query<Fleet>(fleetStatement, [tx.workspaceId, env])
  return row as Fleet
}

const findUnverified = sql(
  'overview.find_unverified',
  'select id from users where id = $1 and email_verified_at is null',
)
export const isUnverified = async (tx: ReadTx, userId: string): Promise<boolean> =>
  (await tx.query(findUnverified, [userId])).length > 0
