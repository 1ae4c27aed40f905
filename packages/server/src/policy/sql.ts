import type { Env } from '@keyrail/contract/shared'
import { sql } from '../platform/db/connection.ts'
import type { Tx } from '../platform/db/transaction.ts'
import type { FeedStatements } from './statements.ts'

/** Where a project's policy stands. */
export interface PolicyHead {
  version: number
  /** The lowest version that a delta can start from. */
  floor: number
  deleted: boolean
}

/** Heads of many projects at once, by their place in the arrays; a version that is null where there is no project. */
export const findHeads = sql(
  'policy.find_heads',
  `select u.place, h.version, h.floor, h.project_deleted as deleted, s.same
   from (select store_is_same() as same) s
   cross join unnest($1::uuid[], $2::uuid[]) with ordinality u(w, p, place)
   left join policy_heads h on h.workspace_id = u.w and h.project_id = u.p`,
)

export interface SnapshotPageRow {
  more: boolean
  last: string | null
  json: string | null
  /** Null where there is none, or none was asked for. */
  tenants: string | null
}

export interface Narrowing {
  projectId: string
  envs: readonly Env[]
  /** Null: the whole project. */
  tenantIds: readonly string[] | null
  /** Those that the node names and the service knows; null where it names none. */
  features: readonly string[] | null
}

/** What a page may have. */
export interface PageMost {
  keys: number
  bytes: number
}

/** @param after the id that the page before ended with. */
export async function readSnapshotPage(
  tx: Tx,
  statements: FeedStatements,
  { projectId, envs, tenantIds, features }: Narrowing,
  after: string,
  { keys, bytes }: PageMost,
): Promise<SnapshotPageRow> {
  const values = [tx.workspaceId, projectId, after, envs, keys, bytes]
  const [row] = await tx.query<SnapshotPageRow>(
    statements.snapshotPage(features ?? [], tenantIds !== null),
    tenantIds === null ? values : [...values, tenantIds],
  )
  return row as SnapshotPageRow
}

export interface ChangesRow extends PolicyHead {
  /** Changes of keys, and of tenants where these are told, noted after `since`; more than the limit when there are more. */
  logged: number
  /** Null where there is none, or more than the limit. */
  json: string | null
  tenants: string | null
  /** Whether its bytes are beyond theirs. */
  is_large: boolean
}

export async function readChangesSince(
  tx: Tx,
  statements: FeedStatements,
  { projectId, envs, tenantIds, features }: Narrowing,
  since: number,
  { keys, bytes }: PageMost,
): Promise<ChangesRow | null> {
  const values = [tx.workspaceId, projectId, since, envs, tenantIds, keys, bytes]
  const [row] = await tx.query<ChangesRow>(statements.changes(features ?? []), values)
  return row ?? null
}

/** Takes what nodes say, many at once; the places of those that it keeps. */
export const noteNodes = sql(
  'policy.note_nodes',
  `select place from policy_nodes_seen($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::bigint[], $6, $7) place`,
)

/**
 * Of the nodes that were seen lately and see an environment: how many, how many hold a version, and who does not. And
 * since when the database is on its timeline; for 90 s after that it may never have heard of a node that lives.
 */
export const countNodes = sql(
  'policy.count_nodes',
  `select u.place, s.same, t.raised_at, t.raised_at > service_now() - interval '90 seconds' as is_new,
     count(k.node)::int as nodes, count(k.node) filter (where k.version >= u.v)::int as acknowledged,
     (array_agg(k.node order by k.node) filter (where k.version < u.v))[1:50] as pending
   from (select store_is_same() as same) s left join store_timelines t on true
   cross join unnest($1::uuid[], $2::uuid[], $3::text[], $4::bigint[]) with ordinality u(w, p, env, v, place)
   left join policy_nodes k on k.workspace_id = u.w and k.project_id = u.p and k.sees in (u.env, 'both')
     and k.seen_at > service_now() - interval '90 seconds'
   group by u.place, s.same, t.raised_at`,
)

/**
 * Of the next projects in the order of their keys, up to which version changes are kept no longer. Times rise with
 * versions, so the oldest change tells whether any is too old.
 */
export const findCuts = sql(
  'policy.find_cuts',
  `select h.workspace_id, h.project_id, greatest(
     case when (select c.changed_at from policy_changes c
                where c.workspace_id = h.workspace_id and c.project_id = h.project_id
                order by c.version limit 1) < service_now() - interval '7 days'
       then (select max(c.version) from policy_changes c
             where c.workspace_id = h.workspace_id and c.project_id = h.project_id
               and c.changed_at < service_now() - interval '7 days') end,
     (select c.version from policy_changes c
      where c.workspace_id = h.workspace_id and c.project_id = h.project_id
      order by c.version desc offset $4 limit 1)) as cut
   from (select workspace_id, project_id from policy_heads where (workspace_id, project_id) > ($1, $2)
         order by workspace_id, project_id limit $3) h
   order by h.workspace_id, h.project_id`,
)

export const raiseFloorTo = sql(
  'policy.raise_floor_to',
  'update policy_heads set floor = $3 where workspace_id = $1 and project_id = $2 and floor < $3',
)

export const removeChanges = sql(
  'policy.remove_changes',
  `delete from policy_changes where workspace_id = $1 and project_id = $2 and (version, key_id) in (
     select c.version, c.key_id from policy_changes c
     where c.workspace_id = $1 and c.project_id = $2 and c.version <= $3
     order by c.version limit $4 for update skip locked)`,
)

export const forgetNodes = sql(
  'policy.forget_nodes',
  `delete from policy_nodes where (workspace_id, project_id, sees, node) in (
     select k.workspace_id, k.project_id, k.sees, k.node from policy_nodes k
     where k.seen_at < service_now() - interval '1 day'
     limit $1 for update skip locked)`,
)
