import { type Statement, sql } from '../platform/db/connection.ts'
import { changesOne } from '../platform/db/touch.ts'
import type { PersonTx, ReadTx } from '../platform/db/transaction.ts'

/**
 * Accounts without this note, from older releases, are judged by their sessions, which are kept for thirty days after their
 * end. If the address was verified earlier than that, nothing is known, and the account counts as proven.
 */
const findUnproven = sql(
  'people.find_unproven',
  `select case
     when proven_at > '-infinity' then false
     when email_verified_at is null then true
     when proven_at = '-infinity' and email_verified_at < service_now() - interval '30 days' then false
     else not exists (
       select from sessions s where s.user_id = users.id and s.created_at >= users.email_verified_at)
   end as unproven from users where id = $1`,
)
/** Read this behind the lock on the password: a concurrent sign-in has then committed, or finds another password. */
export async function isUnproven(tx: PersonTx): Promise<boolean> {
  const [row] = await tx.query<{ unproven: boolean }>(findUnproven, [tx.userId])
  return row?.unproven === true
}

const prove = sql(
  'people.prove',
  `update users set proven_at = service_now(), updated_at = service_now()
   where id = $1 and coalesce(proven_at, '-infinity') = '-infinity'`,
)
export const setProven = (tx: PersonTx): void => tx.send(prove, [tx.userId])

const disown = sql(
  'people.disown',
  changesOne(`update users set disowned_count = disowned_count + 1, name = null, name_is_own = false,
     updated_at = service_now() where id = $1`),
)
const beginDisowning = sql(
  'people.begin_disowning',
  `insert into disownings (user_id, began_at) values ($1, service_now())
   on conflict (user_id) do update set began_at = excluded.began_at, reached = null, done_at = null`,
)
const live = 'user_id = $1 and token_digest = $2 and token_expires_at > service_now()'
const putToken = sql(
  'people.put_disowning_token',
  `insert into disownings (user_id, token_digest, token_expires_at)
   values ($1, $2, service_now() + make_interval(hours => $3))
   on conflict (user_id) do update
     set token_digest = excluded.token_digest, token_expires_at = excluded.token_expires_at`,
)
export const storeDisowningToken = (tx: PersonTx, digest: Buffer, hours: number): void =>
  tx.send(putToken, [tx.userId, digest, hours])
const findToken = sql('people.find_disowning_token', `select user_id from disownings where ${live}`)
export const hasDisowningToken = async (tx: PersonTx, digest: Buffer): Promise<boolean> =>
  (await tx.query(findToken, [tx.userId, digest])).length > 0
const useToken = sql(
  'people.use_disowning_token',
  `update disownings set token_digest = null where ${live} returning user_id`,
)
/** @returns false when the token is wrong, used or expired. Only one of two concurrent calls gets true. */
export const consumeDisowningToken = async (tx: PersonTx, digest: Buffer): Promise<boolean> =>
  (await tx.query(useToken, [tx.userId, digest])).length > 0
const retireToken = sql(
  'people.retire_disowning_token',
  'update disownings set token_digest = null where user_id = $1 and token_digest is not null',
)
export const retireDisowningToken = (tx: PersonTx): void => tx.send(retireToken, [tx.userId])

/** Marks every workspace of the account, in one row, and notes that what the account made is to end. */
export function disownRows(tx: PersonTx): void {
  tx.send(disown, [tx.userId])
  tx.send(beginDisowning, [tx.userId])
}

const undone = sql('people.undone_disownings', 'select user_id from undone_disownings($1)')
export async function listUndone(tx: ReadTx, most: number): Promise<string[]> {
  const rows = await tx.query<{ user_id: string }>(undone, [most])
  return rows.map(row => row.user_id)
}

const unprovenPlaces = sql(
  'people.unproven_places',
  `select m.workspace_id from workspace_members m join users u on u.id = m.user_id
     join disownings d on d.user_id = m.user_id
   where m.user_id = $1 and m.proven_count < u.disowned_count and d.began_at is not null and d.done_at is null
     and (d.reached is null or m.workspace_id > d.reached)
   order by m.workspace_id limit $2`,
)
/** The next workspaces that the account joined before the mark, including workspaces that it has left. */
export async function listUnprovenPlaces(tx: PersonTx, most: number): Promise<string[]> {
  const rows = await tx.query<{ workspace_id: string }>(unprovenPlaces, [tx.userId, most])
  return rows.map(row => row.workspace_id)
}

const advance = sql(
  'people.advance_disowning',
  `update disownings set reached = coalesce($2, reached), done_at = case when $3 then service_now() end
   where user_id = $1 and began_at is not null and done_at is null`,
)
export const advanceRow = (tx: PersonTx, reached: string | null, isDone: boolean): void =>
  tx.send(advance, [tx.userId, reached, isDone])

export const findPlacesMade: Statement = sql(
  'people.find_places_made',
  `select w.id, w.slug, m.role, w.created_at
   from workspace_members m join workspaces w on w.id = m.workspace_id
   where m.user_id = $1 and m.removed_at is null order by w.created_at, w.id limit $2`,
)
export const findSignIns: Statement = sql(
  'people.find_sign_ins',
  'select ip, user_agent, created_at from sessions where user_id = $1 order by id desc limit $2',
)
