import type { Membership } from '@keyrail/contract/people'
import { type Statement, sql } from '../platform/db/connection.ts'
import type { PersonTx } from '../platform/db/transaction.ts'

export interface UserRow {
  id: string
  email: string
  name: string | null
  email_verified_at: Date | null
  created_at: Date
  /** Whether somebody has proved that the account's password and mailbox belong together. */
  is_proven: boolean
  /** Whether a proven person chose the name. */
  name_is_own: boolean
}

const userColumns = `id, email, name, email_verified_at, created_at, name_is_own,
  coalesce(proven_at > '-infinity', false) as is_proven`

export const findAnyAccount = 'select exists (select 1 from users limit 1) as found'

/** Accounts by address, for unauthenticated requests. */
export const findAccounts: Statement = sql(
  'people.find_accounts',
  `select d.place, u.id, u.email_verified_at is not null as verified, p.hash, p.devices
   from unnest($1::text[]) with ordinality d(address_key, place)
   join users u on u.address_key = d.address_key
   join user_passwords p on p.user_id = u.id`,
)

const insertUser = sql(
  'people.insert_user',
  `with made as (
     insert into users (id, email, address_key, name, created_at, updated_at)
     values ($1, $2, $3, $4, service_now(), service_now())
     on conflict (address_key) do nothing
     returning id
   )
   insert into user_passwords (user_id, hash) select id, $5 from made returning user_id`,
)
/** @returns false when the address already has an account. */
export async function addUser(
  tx: PersonTx,
  user: { email: string; addressKey: string; name: string | null; hash: string },
): Promise<boolean> {
  const made = await tx.query(insertUser, [tx.userId, user.email, user.addressKey, user.name, user.hash])
  return made.length > 0
}

const findUser = sql('people.find_user', `select ${userColumns} from users where id = $1`)
const findUserToStay = sql(
  'people.find_user_to_stay',
  `select ${userColumns} from users where id = $1 for key share`,
)
/** Locks the account against erasure until the transaction ends. */
export async function readUserToStay(tx: PersonTx): Promise<UserRow | null> {
  const [row] = await tx.query<UserRow>(findUserToStay, [tx.userId])
  return row ?? null
}
export async function readUser(tx: PersonTx): Promise<UserRow | null> {
  const [row] = await tx.query<UserRow>(findUser, [tx.userId])
  return row ?? null
}

const renameUser = sql(
  'people.rename_user',
  `update users set name = $2, name_is_own = coalesce(proven_at > '-infinity', false), updated_at = service_now()
   where id = $1 returning ${userColumns}`,
)
export async function updateName(tx: PersonTx, name: string | null): Promise<UserRow | null> {
  const [row] = await tx.query<UserRow>(renameUser, [tx.userId, name])
  return row ?? null
}

const verifyUser = sql(
  'people.verify_user',
  `update users set email_verified_at = service_now(), updated_at = service_now()
   where id = $1 and email_verified_at is null`,
)
export const setVerified = (tx: PersonTx) => tx.send(verifyUser, [tx.userId])

const findPassword = sql('people.find_password', 'select hash from user_passwords where user_id = $1')
export async function readPassword(tx: PersonTx): Promise<string | null> {
  const [row] = await tx.query<{ hash: string }>(findPassword, [tx.userId])
  return row?.hash ?? null
}

const changePassword = sql(
  'people.change_password',
  'update user_passwords set hash = $2 where user_id = $1 and hash = coalesce($3, hash) returning user_id',
)
/** @param old the hash to replace; null: any. @returns false when the stored hash is no longer `old`. */
export async function replacePassword(tx: PersonTx, hash: string, old: string | null): Promise<boolean> {
  return (await tx.query(changePassword, [tx.userId, hash, old])).length > 0
}

const memberships = sql(
  'people.memberships',
  `select w.id, w.name, w.slug, m.role, m.proven_count < u.disowned_count as unproven
   from workspace_members m join workspaces w on w.id = m.workspace_id join users u on u.id = m.user_id
   where m.user_id = $1 and m.removed_at is null order by w.created_at, w.id`,
)
export const listMemberships = (tx: PersonTx) => tx.query<Membership>(memberships, [tx.userId])

export type TokenKind = 'verification' | 'password_reset'

const putToken = sql(
  'people.put_token',
  `insert into mail_tokens (user_id, kind, digest, created_at, expires_at)
   values ($1, $2, $3, service_now(), service_now() + make_interval(hours => $4))
   on conflict (user_id, kind) do update
     set digest = excluded.digest, created_at = excluded.created_at, expires_at = excluded.expires_at, used_at = null`,
)
/** The new token replaces the old one. */
export const storeToken = (tx: PersonTx, kind: TokenKind, digest: Buffer, hours: number) =>
  tx.send(putToken, [tx.userId, kind, digest, hours])

const live = 'user_id = $1 and kind = $2 and digest = $3 and used_at is null and expires_at > service_now()'
const findToken = sql('people.find_token', `select kind from mail_tokens where ${live}`)
export async function hasToken(tx: PersonTx, kind: TokenKind, digest: Buffer): Promise<boolean> {
  return (await tx.query(findToken, [tx.userId, kind, digest])).length > 0
}

const useToken = sql(
  'people.use_token',
  `update mail_tokens set used_at = service_now() where ${live} returning kind`,
)
/** @returns false when the token is wrong, used, expired or replaced. Only one of two concurrent calls gets true. */
export async function consumeToken(tx: PersonTx, kind: TokenKind, digest: Buffer): Promise<boolean> {
  return (await tx.query(useToken, [tx.userId, kind, digest])).length > 0
}

const retire = sql(
  'people.retire_token',
  'update mail_tokens set used_at = service_now() where user_id = $1 and kind = $2 and used_at is null',
)
export const retireToken = (tx: PersonTx, kind: TokenKind) => tx.send(retire, [tx.userId, kind])

export const pruneTokenRows = `delete from mail_tokens where (user_id, kind) in (
     select user_id, kind from mail_tokens
     where least(used_at, expires_at) < service_now() - interval '30 days'
     limit 1000 for update skip locked)`
