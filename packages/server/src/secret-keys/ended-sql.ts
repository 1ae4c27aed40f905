import type { Env } from '@keyrail/contract/shared'
import { isActiveSql } from '../gate/active.ts'
import { byEndSql, hasEndedSql, isLeakedSql, type RoomRow, turnSql } from '../gate/ended.ts'
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
/** Keys that are bound to no project count together. The fullest of several projects counts. */
const count = sql(
  'secret_keys.count',
  `select coalesce(max(active), 0)::int as active, coalesce(max(ended), 0)::int as ended from (
     select count(*) filter (where ${isActive}) as active, count(*) filter (where ${hasEndedSql}) as ended
     from secret_keys k left join lateral unnest(k.project_ids) project on true
     where k.workspace_id = $1 and k.env = $2 and (project = any($3::uuid[]) or $3 is null and project is null)
     group by project) counts`,
)
/** How many secret keys a place has. Lets one request at a time check, so that the count stands until it commits. */
export async function lockSecretKeyRoom(tx: Tx, { env, project_ids }: SecretKeyPlace) {
  const [, [row]] = await Promise.all([
    tx.query(lock, [tx.workspaceId, env]),
    tx.query<{ active: number; ended: number }>(count, [tx.workspaceId, env, project_ids]),
  ])
  return row ?? { active: 0, ended: 0 }
}

/** A key that has made more than one that is still stored stays: what ends makers finds these through it. */
const hasMadeFew = `(select count(*) < 2 from (select from secret_keys made where made.workspace_id = k.workspace_id
       and made.created_by_type = 'secret_key' and made.created_by_id = k.id::text limit 2) made)`
const canGo = `${hasEndedSql} and not ${isLeakedSql} and ${hasMadeFew}
     and not exists (select from endings e where e.workspace_id = k.workspace_id and e.maker_type = 'secret_key'
       and e.maker_id = k.id and e.done_at is null)
     and not exists (select from workspace_invites i where i.workspace_id = k.workspace_id
       and i.created_by_type = 'secret_key' and i.created_by_id = k.id::text and i.accepted_at is null
       and i.revoked_at is null and i.expires_at > service_now())`

const findRoom = sql(
  'secret_keys.find_room',
  `select k.id, ${turnSql('maker', 'k.created_by_id = $4::text')} as turn
   from secret_keys k left join secret_keys maker
     on maker.workspace_id = $1 and k.created_by_type = 'secret_key' and maker.id::text = k.created_by_id
   where k.workspace_id = $1 and k.env = $2 and ($3::uuid[] is null and k.project_ids is null or k.project_ids && $3)
     and ${canGo}
   order by turn, ${byEndSql}, k.id limit $5`,
)
/** Ended secret keys of a place that can make room, as `makeWay` takes them. */
export const findRoomForSecretKeys = (
  tx: Tx,
  { env, project_ids }: SecretKeyPlace,
  makerId: string | null,
  most: number,
) => tx.query<RoomRow>(findRoom, [tx.workspaceId, env, project_ids, makerId, most])

const findEnded = sql(
  'secret_keys.find_ended',
  `select k.id from secret_keys k
   where k.workspace_id = $1 and ($2::text is null or k.env = $2) and ${canGo}
   order by ${byEndSql}, k.id limit $3`,
)
export const findEndedSecretKeys = async (tx: Tx, env: Env | null, most: number): Promise<string[]> =>
  (await tx.query<{ id: string }>(findEnded, [tx.workspaceId, env, most])).map(({ id }) => id)

const deleteEnded = sql(
  'secret_keys.delete_ended',
  'select deleted_env as env from delete_ended_secret_keys($1, $2::uuid[])',
)
/** Deletes those of the keys that have ended and whose deletion loses no way to what they made. */
export const deleteEndedSecretKeys = (tx: Tx, ids: readonly string[]) =>
  tx.query<{ env: Env }>(deleteEnded, [tx.workspaceId, ids])
