import type { Env } from '@keyrail/contract/shared'
import { isActiveSql } from '../lifecycle/active.ts'
import { byEndSql, type EndedRow, hasEndedSql, turnSql } from '../lifecycle/ended.ts'
import { sql } from '../platform/db/connection.ts'
import type { Tx } from '../platform/db/transaction.ts'
import type { SecretKeyRow } from './sql.ts'

/** A place with separate caps: an environment, and in it each project for the keys that are bound to it. */
export type SecretKeyPlace = Pick<SecretKeyRow, 'env' | 'project_ids'>

const isActive = isActiveSql('k', '(select service_now())')

const lock = sql(
  'secret_keys.lock_cap',
  `select pg_advisory_xact_lock(hashtextextended('keyrail.secret_key_cap ' || $1::text || $2::text, 0))`,
)
/** Keys that are bound to no project count together. Of several projects, the one with most keys counts. */
const count = sql(
  'secret_keys.count',
  `select coalesce(max(active), 0)::int as active, coalesce(max(ended), 0)::int as ended from (
     select count(*) filter (where ${isActive}) as active, count(*) filter (where ${hasEndedSql}) as ended
     from secret_keys k left join lateral unnest(k.project_ids) project on true
     where k.workspace_id = $1 and k.env = $2 and (project = any($3::uuid[]) or $3 is null and project is null)
     group by project) counts`,
)
/** How many secret keys a place has. One request at a time can check this, so that the count stands until the request commits. */
export async function lockSecretKeyQuota(tx: Tx, { env, project_ids }: SecretKeyPlace) {
  const [, [row]] = await Promise.all([
    tx.query(lock, [tx.workspaceId, env]),
    tx.query<{ active: number; ended: number }>(count, [tx.workspaceId, env, project_ids]),
  ])
  return row ?? { active: 0, ended: 0 }
}

/**
 * SQL for the ended keys that can be deleted. A key stays that made more than one stored key, because the end of a maker finds
 * them through it. A key also stays if something below it is ending, if it has open invitations, or if a code host has reported
 * it.
 *
 * One group joins each key with everything that keeps it. Separate look-ups for each key took time with the square of the
 * number of keys, under plans that Postgres chooses for a maker of thousands.
 * @param inPlace SQL for whether the key `k` is to be considered.
 */
const canGo = (inPlace: string): string => `
  (select name::uuid as id, min(ended) as ended, max(made_by) as made_by, max(maker)::uuid as maker from (
     select k.id::text as name, 1 as keys, 0 as made, 0 as holds, ${byEndSql} as ended, k.created_by_id as made_by,
       case when k.created_by_type = 'secret_key' then k.created_by_id end as maker
     from secret_keys k where k.workspace_id = $1 and ${hasEndedSql} and ${inPlace}
     union all
     select created_by_id, 0, 1, 0, null, null, null from secret_keys
     where workspace_id = $1 and created_by_type = 'secret_key'
     union all
     select maker_id::text, 0, 0, 1, null, null, null from endings
     where workspace_id = $1 and maker_type = 'secret_key' and done_at is null
     union all
     select created_by_id, 0, 0, 1, null, null, null from workspace_invites
     where workspace_id = $1 and created_by_type = 'secret_key' and accepted_at is null and revoked_at is null
       and expires_at > (select service_now())
     union all
     select credential_id::text, 0, 0, 1, null, null, null from leak_reports where workspace_id = $1
   ) facts
   group by name having sum(keys) = 1 and sum(made) < 2 and sum(holds) = 0)`

const inPlace = `k.env = $2 and ($3::uuid[] is null and k.project_ids is null or k.project_ids && $3)`
const findDeletable = sql(
  'secret_keys.find_deletable',
  `select k.id, ${turnSql('maker', 'k.made_by = $4::text')} as turn
   from ${canGo(inPlace)} k left join secret_keys maker on maker.workspace_id = $1 and maker.id = k.maker
   order by turn, k.ended, k.id limit $5`,
)
/** Ended secret keys of a place that can make space, as `makeWay` takes them. */
export const findSecretKeysToDelete = (
  tx: Tx,
  { env, project_ids }: SecretKeyPlace,
  makerId: string | null,
  most: number,
) => tx.query<EndedRow>(findDeletable, [tx.workspaceId, env, project_ids, makerId, most])

const findEnded = sql(
  'secret_keys.find_ended',
  `select k.id from ${canGo('($2::text is null or k.env = $2)')} k order by k.ended, k.id limit $3`,
)
export const findEndedSecretKeys = async (tx: Tx, env: Env | null, most: number): Promise<string[]> =>
  (await tx.query<{ id: string }>(findEnded, [tx.workspaceId, env, most])).map(({ id }) => id)

const deleteEnded = sql(
  'secret_keys.delete_ended',
  'select deleted_env as env from delete_ended_secret_keys($1, $2::uuid[])',
)
/** Deletes the keys that have ended, except keys that are the only way to what they made. */
export const deleteEndedSecretKeys = (tx: Tx, ids: readonly string[]) =>
  tx.query<{ env: Env }>(deleteEnded, [tx.workspaceId, ids])
