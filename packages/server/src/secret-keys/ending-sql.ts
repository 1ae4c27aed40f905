import type { Actor } from '../audit/append.ts'
import { keysMadeSql } from '../gate/made.ts'
import { isActiveSql } from '../lifecycle/active.ts'
import { isLongEndedSql, restSql } from '../lifecycle/ended.ts'
import { sql } from '../platform/db/connection.ts'
import { changesOne } from '../platform/db/touch.ts'
import type { ReadTx, Tx } from '../platform/db/transaction.ts'
import type { Maker } from './made-sql.ts'

/** What follows from the end of a maker, and how much of that is done. */
export interface EndingRow {
  revokes_keys: boolean
  actor_type: Actor['type']
  actor_id: string | null
  secret_keys_revoked: number
}

/** Whether anything names the maker. The cost is one look into an index, however much the maker made. */
const hasMade = `(
     exists (select from secret_keys where workspace_id = $1 and created_by_type = $2 and created_by_id = $3::text)
     or $2 = 'session' and exists (select from secret_keys where workspace_id = $1 and created_in_session = $3::uuid)
     or exists (select from workspace_invites where workspace_id = $1 and accepted_at is null and revoked_at is null
       and (created_by_type = $2 and created_by_id = $3::text or created_by_type is null))
     or $2 = 'session' and exists (select from workspace_invites where workspace_id = $1 and accepted_at is null
       and revoked_at is null and created_in_session = $3::uuid))`

/** Whether anything below the maker is still to end. The cost grows with the number of keys. */
const hasLeft = sql(
  'endings.has_left',
  `${keysMadeSql}
   select exists (select from secret_keys where workspace_id = $1 and id in (select id from made)
       and ${isActiveSql('secret_keys')})
     or exists (select from workspace_invites where workspace_id = $1 and accepted_at is null and revoked_at is null
       and expires_at > service_now() and (created_by_type = $2 and created_by_id = $3
         or created_by_type = 'secret_key' and created_by_id = any(array(select id::text from made))
         or $2 = 'session' and created_in_session = $3::uuid)) as left`,
)
export async function hasLeftToEnd(tx: Tx, { type, id }: Maker): Promise<boolean> {
  const [row] = await tx.query<{ left: boolean }>(hasLeft, [tx.workspaceId, type, id])
  return row?.left === true
}

const isOver = `endings.maker_type = 'user' and endings.done_at is not null`
/**
 * If an earlier end of the maker is not done yet, both continue as one. A member can come back and lose the rights again: then
 * what ended with the first loss is over, and is neither repeated nor counted.
 */
const begin = sql(
  'endings.begin',
  `insert into endings (workspace_id, maker_type, maker_id, revokes_keys, actor_type, actor_id, began_at)
   select $1, $2::text, $3::uuid, $4, $5, $6, $7 where ${hasMade}
   on conflict (workspace_id, maker_type, maker_id) do update set
     revokes_keys = endings.done_at is null and endings.revokes_keys or excluded.revokes_keys,
     secret_keys_revoked = case when ${isOver} then 0 else endings.secret_keys_revoked end,
     invitations_revoked = case when ${isOver} then 0 else endings.invitations_revoked end,
     actor_type = excluded.actor_type, actor_id = excluded.actor_id,
     began_at = case when endings.done_at is null then endings.began_at else excluded.began_at end, done_at = null
   returning maker_id`,
)
/** @returns false when the maker has made nothing. */
export async function beginEndingRow(
  tx: Tx,
  { type, id }: Maker,
  revokesKeys: boolean,
  actor: Actor,
  at: Date,
): Promise<boolean> {
  const values = [tx.workspaceId, type, id, revokesKeys, actor.type, actor.id, at]
  return (await tx.query(begin, values)).length > 0
}

const columns = 'revokes_keys, actor_type, actor_id, secret_keys_revoked'
const which = 'workspace_id = $1 and maker_type = $2 and maker_id = $3'
const lock = sql(
  'endings.lock',
  `select ${columns} from endings where ${which} and done_at is null for update`,
)
/** @returns null when nothing is left to do. */
export async function lockUndoneEnding(tx: Tx, { type, id }: Maker): Promise<EndingRow | null> {
  const [row] = await tx.query<EndingRow>(lock, [tx.workspaceId, type, id])
  return row ?? null
}

export interface CascadeRow {
  secret_keys_revoked: number
  /** How many keys are to end and still work. */
  remaining: number
  is_done: boolean
}
const find = sql(
  'endings.find',
  `${keysMadeSql}
   select secret_keys_revoked, done_at is not null as is_done,
     case when done_at is null and revokes_keys then
       (select count(*)::int from secret_keys where workspace_id = $1 and id in (select id from made)
          and ${isActiveSql('secret_keys')})
     else 0 end as remaining
   from endings where workspace_id = $1 and maker_type = $2 and maker_id = $3::uuid and ($4 or done_at is null)`,
)
/** @param evenDone whether to return the row after the ending is done too; otherwise null. */
export async function readCascade(
  tx: ReadTx,
  { type, id }: Maker,
  evenDone: boolean,
): Promise<CascadeRow | null> {
  const [row] = await tx.query<CascadeRow>(find, [tx.workspaceId, type, id, evenDone])
  return row ?? null
}

const note = sql(
  'endings.note',
  changesOne(`update endings set secret_keys_revoked = secret_keys_revoked + $4,
     invitations_revoked = invitations_revoked + $5, done_at = $6 where ${which}`),
)
/** @param doneAt null: the ending is not done. */
export const noteEnded = (
  tx: Tx,
  { type, id }: Maker,
  secretKeys: number,
  invitations: number,
  doneAt: Date | null,
): void => tx.send(note, [tx.workspaceId, type, id, secretKeys, invitations, doneAt])

const next = sql('endings.next', 'select workspace_id, maker_type, maker_id from next_endings($1)')
export interface UndoneEnding {
  workspaceId: string
  maker: Maker
}
/** One ending of each workspace; the endings come first whose last turn is longest ago. */
export async function listNextEndings(tx: ReadTx, most: number): Promise<UndoneEnding[]> {
  const rows = await tx.query<{ workspace_id: string; maker_type: Maker['type']; maker_id: string }>(next, [
    most,
  ])
  return rows.map(row => ({
    workspaceId: row.workspace_id,
    maker: { type: row.maker_type, id: row.maker_id },
  }))
}

const takeUp = sql(
  'endings.take_up',
  `update endings set tried_at = service_now() where (workspace_id, maker_type, maker_id) in (
     select workspace_id, maker_type, maker_id from endings where ${which} and done_at is null
     for update skip locked) returning maker_id`,
)
/**
 * Notes that the ending has its turn, in a transaction before the batches, which may fail.
 * @returns false when another process works on the ending, or it is done.
 */
export const takeUpEnding = async (tx: Tx, { type, id }: Maker): Promise<boolean> =>
  (await tx.query(takeUp, [tx.workspaceId, type, id])).length > 0

export const pruneEndingRows = `delete from endings where (workspace_id, maker_type, maker_id) in (
     select workspace_id, maker_type, maker_id from endings where done_at < service_now() - interval '30 days'
     limit 1000 for update skip locked)`

/** A key that made other keys stays as long as these keys do, because the end of a maker finds them through it. */
export const pruneSecretKeyRows = `with old as (
     select k.workspace_id, k.id from secret_keys k
     where ${isLongEndedSql('secretKey')}
       and not exists (select from secret_keys made where made.workspace_id = k.workspace_id
         and made.created_by_type = 'secret_key' and made.created_by_id = k.id::text)
       and not exists (select from endings e
         where e.workspace_id = k.workspace_id and e.maker_type = 'secret_key' and e.maker_id = k.id)
       and not exists (select from leak_reports l where l.workspace_id = k.workspace_id and l.credential_id = k.id)
     order by ${restSql.secretKey} limit $1 for update of k skip locked
   ), credential as (
     delete from credentials c using old where c.workspace_id = old.workspace_id and c.kind = 'secret_key' and c.id = old.id
   )
   delete from secret_keys k using old where k.workspace_id = old.workspace_id and k.id = old.id`
