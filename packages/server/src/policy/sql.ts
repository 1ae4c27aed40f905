import type { Env } from '@keyrail/contract/shared'
import { recordColumns } from '../gate/lookup.ts'
import type { PolicyHead } from '../gate/read-head.ts'
import { sql } from '../platform/db/connection.ts'
import { floorSql, versionSql } from '../platform/db/failover/raised.ts'
import type { ReadTx, Tx } from '../platform/db/transaction.ts'
import type { FeedStatements } from './statements.ts'

/** Policy heads of many projects, by their index in the arrays; the version is null for a missing project. */
export const findHeads = sql(
  'policy.find_heads',
  `select u.place, ${versionSql('h')} as version, ${floorSql('h')} as floor, h.project_deleted as deleted,
     h.accepts_imported as imports, s.same
   from (select store_level_is_same() as same) s
   cross join unnest($1::uuid[], $2::uuid[]) with ordinality u(w, p, place)
   left join policy_heads h on h.workspace_id = u.w and h.project_id = u.p`,
)

/** Records of secret keys by their digests, each with the head of a project, if its workspace has that one. */
export const findPolls = sql(
  'policy.find_polls',
  `with found as materialized (
     select d.place, d.project, c.workspace_id, c.id
     from unnest($1::bytea[], $2::uuid[]) with ordinality d(digest, project, place)
     join credentials c on c.digest = d.digest and c.kind = 'secret_key'
   )
   select f.place, f.workspace_id, f.id, ${recordColumns},
     ${versionSql('h')} as version, ${floorSql('h')} as floor, h.project_deleted as deleted,
     h.accepts_imported as imports, s.same
   from (select store_level_is_same() as same) s
   cross join found f
   join secret_keys k on k.workspace_id = f.workspace_id and k.id = f.id
   left join policy_heads h on h.workspace_id = f.workspace_id and h.project_id = f.project`,
)

export interface SnapshotPageRow {
  more: boolean
  last: string | null
  json: string | null
  /** Null when there are none, or none were requested. */
  tenants: string | null
}

export interface Narrowing {
  projectId: string
  envs: readonly Env[]
  /** Null: the whole project. */
  tenantIds: readonly string[] | null
  /** The features that the node is given; null when it names none. */
  features: readonly string[] | null
}

/** The limits of a page. */
export interface PageMost {
  keys: number
  bytes: number
}

/** @param after the last id of the previous page. */
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
  /** Changes after `since` of keys, and of tenants if requested; one more than the limit when there are more. */
  logged: number
  /** Null when there are none, or more than the limit. */
  json: string | null
  tenants: string | null
  /** Whether the JSON is larger than its limit. */
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

const openHead = sql(
  'policy.open_head_version',
  `select ${versionSql('h')} as version from policy_heads h
   where h.workspace_id = $1 and h.project_id = $2 and not h.project_deleted`,
)
/** The version of a project; null for a missing or deleted one. */
export async function readOpenHead(tx: ReadTx, projectId: string): Promise<number | null> {
  const [row] = await tx.query<{ version: number }>(openHead, [tx.workspaceId, projectId])
  return row?.version ?? null
}

/**
 * For the next projects in key order, the version up to which changes are pruned. Times rise with versions, so the
 * oldest change shows whether any is too old.
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
