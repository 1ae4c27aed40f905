import type { Env } from '@keyrail/contract/shared'
import { sql } from '../platform/db/connection.ts'
import { floorSql, versionSql } from '../platform/db/failover/raised.ts'
import type { ReadTx } from '../platform/db/transaction.ts'
import { isFullSql, isLiveSql, liveInterval } from './live.ts'

/** Records many nodes at once; returns the indexes of those that it keeps. */
export const noteNodes = sql(
  'policy.note_nodes',
  `select place from policy_nodes_seen($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::bigint[], $6::int[], $7::int[],
     $8, $9) place`,
)

/**
 * As `noteNodes`, and also returns for each live node the age in seconds of the oldest change that the poll acknowledges; null
 * if the poll acknowledges no change. The outer statement reads the versions as they were before the function writes.
 */
export const noteAndTimeNodes = sql(
  'policy.note_and_time_nodes',
  `select s.place, extract(epoch from service_now() - c.changed_at)::float8 as age
   from policy_nodes_seen($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::bigint[], $6::int[], $7::int[], $8, $9) s(place)
   join unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::bigint[])
     with ordinality u(w, p, sees, node, v, place) on u.place = s.place
   left join policy_nodes k on k.workspace_id = u.w and k.project_id = u.p and k.sees = u.sees and k.node = u.node
     and k.version > 0 and k.version < u.v and ${isLiveSql('k')}
   left join lateral (
     select changed_at from policy_changes
     where workspace_id = k.workspace_id and project_id = k.project_id and version > k.version and version <= u.v
     order by version limit 1) c on true`,
)

/** Removes nodes that have stopped. One that is being recorded stays. */
export const removeNodes = sql(
  'policy.remove_nodes',
  `delete from policy_nodes where (workspace_id, project_id, sees, node) in (
     select k.workspace_id, k.project_id, k.sees, k.node
     from unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[]) u(w, p, sees, node)
     join policy_nodes k on k.workspace_id = u.w and k.project_id = u.p and k.sees = u.sees and k.node = u.node
     for update of k skip locked)`,
)

/** Which nodes were recorded after a moment that is so many milliseconds ago. */
export const recordedSince = sql(
  'policy.recorded_since',
  `select u.place from unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::float8[])
     with ordinality u(w, p, sees, node, age, place)
   join policy_nodes k on k.workspace_id = u.w and k.project_id = u.p and k.sees = u.sees and k.node = u.node
   where k.seen_at > (select service_now()) - u.age * interval '1 millisecond'`,
)

/**
 * Counts the live nodes of an environment and those that hold a version, and lists the others. Also returns since when the
 * database is on its timeline; for 90 s after that it may lack a live node. One reading of the clock judges all, and is returned.
 */
export const countNodes = sql(
  'policy.count_nodes',
  `with clock as materialized (
     select now, now - ${liveInterval} as live_since from (select service_now() as now) read)
   select u.place, s.same, t.raised_at, t.raised_at > (select live_since from clock) as is_new,
     (select extract(epoch from now) * 1000 from clock)::float8 as now,
     count(k.node)::int as nodes, count(k.node) filter (where k.version >= u.v)::int as acknowledged,
     (array_agg(k.node order by k.node) filter (where k.version < u.v))[1:50] as pending
   from (select store_level_is_same() as same) s cross join (select store_raised_at() as raised_at) t
   cross join unnest($1::uuid[], $2::uuid[], $3::text[], $4::bigint[]) with ordinality u(w, p, env, v, place)
   left join policy_nodes k on k.workspace_id = u.w and k.project_id = u.p and (u.env is null or k.sees in (u.env, 'both'))
     and k.seen_at > (select live_since from clock)
   group by u.place, s.same, t.raised_at`,
)

/**
 * The live nodes of an environment, and which of them lack the last change of a key or of its tenant. A change that is pruned is
 * at or below the floor, below which no node stays.
 */
export const nodesOfKey = sql(
  'policy.nodes_of_key',
  `with changed as materialized (
     select greatest(${floorSql('h')},
       (select max(version) from policy_changes where workspace_id = $1 and project_id = $2 and key_id = $4),
       (select max(version) from policy_tenants where workspace_id = $1 and project_id = $2 and tenant_id = $5)) as version
     from policy_heads h where h.workspace_id = $1 and h.project_id = $2
   )
   select c.version, count(k.node)::int as live, count(k.node) filter (where k.version >= c.version)::int as current,
     count(k.node) filter (where ${isFullSql('k')})::int as full,
     (json_agg(json_build_object('node', k.node, 'version', k.version, 'seen_at', k.seen_at) order by k.version, k.node)
       filter (where k.version < c.version)) as behind
   from changed c
   left join policy_nodes k on k.workspace_id = $1 and k.project_id = $2 and k.sees in ($3, 'both') and ${isLiveSql('k')}
   group by c.version`,
)

export interface FleetRow {
  node: string
  sees: Env | 'both'
  version: number
  held_keys: number | null
  held_keys_max: number | null
  seen_at: Date
  is_live: boolean
}
/** The last row of a page of nodes. */
export type NodePlace = Pick<FleetRow, 'seen_at' | 'sees' | 'node'>

/**
 * Reads every node of the project, of which there are at most 10,000, and sorts them: with an index by time, each poll
 * that notes its node would write to it.
 */
const listFleetStatement = sql(
  'policy.list_fleet',
  `select k.node, k.sees, k.version, k.held_keys, k.held_keys_max, k.seen_at, ${isLiveSql('k')} as is_live from policy_nodes k
   where k.workspace_id = $1 and k.project_id = $2 and k.sees = any($3::text[])
     and ($4::timestamptz is null or (k.seen_at, k.sees, k.node) < ($4, $5::text, $6::text))
   order by k.seen_at desc, k.sees desc, k.node desc limit $7`,
)
/** The last seen first, one row more than the limit. */
export const listFleet = (
  tx: ReadTx,
  projectId: string,
  reach: 'test' | 'both',
  after: NodePlace | null,
  limit: number,
) =>
  tx.list<FleetRow>(
    listFleetStatement,
    [
      tx.workspaceId,
      projectId,
      reach === 'test' ? ['test'] : ['live', 'test', 'both'],
      after?.seen_at ?? null,
      after?.sees ?? null,
      after?.node ?? null,
      limit + 1,
    ],
    { most: limit + 1 },
  )

export const forgetNodes = sql(
  'policy.forget_nodes',
  `delete from policy_nodes where (workspace_id, project_id, sees, node) in (
     select k.workspace_id, k.project_id, k.sees, k.node from policy_nodes k
     where k.seen_at < service_now() - interval '1 day'
     limit $1 for update skip locked)`,
)

/** Counts the nodes of all projects, for the operator. */
export const countFleets = sql(
  'policy.count_fleets',
  `select count(*) filter (where is_live)::int as live,
     count(*) filter (where is_live and version < head)::int as behind,
     count(*) filter (where not is_live)::int as silent,
     count(*) filter (where is_live and is_full)::int as full,
     coalesce(extract(epoch from max(age) filter (where is_live)), 0)::float8 as oldest
   from (select k.version, ${versionSql('h')} as head, ${isLiveSql('k')} as is_live,
           ${isFullSql('k')} as is_full, (select service_now()) - k.seen_at as age
         from policy_nodes k join policy_heads h on h.workspace_id = k.workspace_id and h.project_id = k.project_id
         where not h.project_deleted) nodes`,
)

/** The age of the oldest change that a live node of any project has not acknowledged. A node that holds nothing yet has missed no change. */
export const oldestMissed = sql(
  'policy.oldest_missed',
  `select coalesce(extract(epoch from service_now() - min(c.changed_at)), 0)::float8 as age
   from (select k.workspace_id, k.project_id, min(k.version) as version
         from policy_nodes k join policy_heads h on h.workspace_id = k.workspace_id and h.project_id = k.project_id
         where not h.project_deleted and k.version > 0 and k.version < ${versionSql('h')} and ${isLiveSql('k')}
         group by 1, 2) behind
   cross join lateral (
     select changed_at from policy_changes c
     where c.workspace_id = behind.workspace_id and c.project_id = behind.project_id and c.version > behind.version
     order by c.version limit 1) c`,
)
