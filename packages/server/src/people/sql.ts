import type { Membership } from '@keyrail/contract/people'
import { type Statement, sql } from '../platform/db/connection.ts'
import { RightNotEnded } from '../platform/db/touch.ts'
import type { PersonTx } from '../platform/db/transaction.ts'

export interface UserRow {
  id: string
  email: string
  name: string | null
  email_verified_at: Date | null
  created_at: Date
}

export interface SessionRow {
  id: string
  acts_in: string | null
  user_agent: string | null
  ip: string | null
  created_at: Date
  last_seen_at: Date
  expires_at: Date
}

export const findAnyAccount = 'select exists (select 1 from users limit 1) as found'

/** Accounts by address, for unauthenticated requests. */
export const findAccounts: Statement = sql(
  'people.find_accounts',
  `select d.place, u.id, p.hash from unnest($1::text[]) with ordinality d(address_key, place)
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

const findUser = sql(
  'people.find_user',
  'select id, email, name, email_verified_at, created_at from users where id = $1',
)
const findUserToStay = sql(
  'people.find_user_to_stay',
  'select id, email, name, email_verified_at, created_at from users where id = $1 for key share',
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
  `update users set name = $2, updated_at = service_now() where id = $1
   returning id, email, name, email_verified_at, created_at`,
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
  `select w.id, w.name, w.slug, m.role
   from workspace_members m join workspaces w on w.id = m.workspace_id
   where m.user_id = $1 and m.removed_at is null order by w.created_at, w.id`,
)
export const listMemberships = (tx: PersonTx) => tx.query<Membership>(memberships, [tx.userId])

/** A session has no workspace once its person has left it or the workspace is gone. */
const sessionColumns = `id, user_agent, ip, created_at, last_seen_at, expires_at,
  (select m.workspace_id from workspace_members m
   where m.workspace_id = sessions.acts_in and m.user_id = sessions.user_id and m.removed_at is null) as acts_in`

/**
 * The lock makes a concurrent change of the password wait, which then ends this session too; an earlier change is
 * visible. The clock is read once: an inlined call would give each column a different time.
 */
const insertSession = sql(
  'people.insert_session',
  `with person as (
     select user_id from user_passwords where user_id = $1 and hash = $2 for share
   ), clock as materialized (select service_now() as now)
   insert into sessions (id, user_id, acts_in, user_agent, ip, created_at, last_seen_at, expires_at)
   select $3, user_id, $4, $5, $6, clock.now, clock.now, clock.now + make_interval(secs => $7)
   from person, clock
   returning ${sessionColumns}`,
)
const insertCredential = sql(
  'people.insert_credential',
  `insert into credentials (digest, kind, workspace_id, id) values ($1, 'session', null, $2)`,
)
export interface NewSession {
  id: string
  digest: Buffer
  actsIn: string | null
  userAgent: string | null
  ip: string
  maxAgeS: number
}
/** @param hash of the password that was verified. @returns null when the stored hash is no longer this one. */
export async function addSession(
  tx: PersonTx,
  hash: string,
  session: NewSession,
): Promise<SessionRow | null> {
  const { id, digest, actsIn, userAgent, ip, maxAgeS } = session
  const values = [tx.userId, hash, id, actsIn, userAgent, ip, maxAgeS]
  const [row] = await tx.query<SessionRow>(insertSession, values)
  // After the session row, which it references.
  if (row !== undefined) tx.send(insertCredential, [digest, id])
  return row ?? null
}

const listSessions = sql(
  'people.list_sessions',
  `select ${sessionColumns} from sessions
   where user_id = $1 and ended_at is null and expires_at > service_now()
     and last_seen_at > service_now() - make_interval(secs => $2) and ($3::uuid is null or id < $3)
   order by id desc limit $4`,
)
/** Active sessions, newest first, one row more than the limit. */
export const listSessionRows = (tx: PersonTx, idleS: number, before: string | null, limit: number) =>
  tx.list<SessionRow>(listSessions, [tx.userId, idleS, before, limit + 1], { most: limit + 1 })

const endSessionRight = sql('people.end_session_right', 'select end_rights($1, array[$2]::uuid[])')
const endSession = sql(
  'people.end_session',
  `update sessions set ended_at = service_now()
   where user_id = $1 and id = $2 and ended_at is null and expires_at > service_now() returning ${sessionColumns}`,
)
const findLive = sql(
  'people.find_live_session',
  'select ended_at is null and expires_at > service_now() as live from sessions where user_id = $1 and id = $2',
)
/** @returns false when the session is missing. @throws {RightNotEnded} when a write should have ended it and has not. */
async function hasEnded(tx: PersonTx, id: string): Promise<boolean> {
  const [left] = await tx.query<{ live: boolean }>(findLive, [tx.userId, id])
  if (left?.live === true) throw new RightNotEnded('the session')
  return left !== undefined
}
/** @returns null when there is no active session with this id. */
export async function endSessionRow(tx: PersonTx, id: string): Promise<SessionRow | null> {
  tx.send(endSessionRight, [tx.userId, id])
  const [row] = await tx.query<SessionRow>(endSession, [tx.userId, id])
  if (row === undefined) await hasEnded(tx, id)
  return row ?? null
}

export interface SessionPlaces {
  /** Whether the person has any session, ended or not. */
  hasAny: boolean
  /** Whether one was opened from the same address by the same program. */
  isKnown: boolean
  /** How many are neither ended nor expired. */
  live: number
}
const sessionPlaces = sql(
  'people.session_places',
  `select count(*) > 0 as "hasAny",
     coalesce(bool_or(ip is not distinct from $2 and user_agent is not distinct from $3), false) as "isKnown",
     (count(*) filter (where ended_at is null and expires_at > service_now()))::int as live
   from sessions where user_id = $1`,
)
export async function readSessionPlaces(
  tx: PersonTx,
  ip: string,
  userAgent: string | null,
): Promise<SessionPlaces> {
  const [row] = await tx.query<SessionPlaces>(sessionPlaces, [tx.userId, ip, userAgent])
  return row ?? { hasAny: false, isKnown: false, live: 0 }
}

const endLeakedSession = sql(
  'people.end_leaked_session',
  `update sessions s set ended_at = service_now(), leaked_url = $3 from users u
   where s.user_id = $1 and s.id = $2 and s.ended_at is null and s.expires_at > service_now() and u.id = s.user_id
   returning u.address_key`,
)
/**
 * @returns null when it had already ended.
 * @throws {RightNotEnded} when it is still live, or cannot be seen.
 */
export async function endLeakedSessionRow(
  tx: PersonTx,
  id: string,
  url: string | null,
): Promise<{ address_key: string } | null> {
  tx.send(endSessionRight, [tx.userId, id])
  const [row] = await tx.query<{ address_key: string }>(endLeakedSession, [tx.userId, id, url])
  // It was found just before, and its row stays for days after its end.
  if (row === undefined && !(await hasEnded(tx, id))) throw new RightNotEnded('the session')
  return row ?? null
}

const sessionForLetter = sql(
  'people.session_for_letter',
  'select ip, user_agent, leaked_url, created_at from sessions where user_id = $1 and id = $2',
)
type SessionOfLetter = Pick<SessionRow, 'ip' | 'user_agent' | 'created_at'> & { leaked_url: string | null }
export async function readSessionForLetter(tx: PersonTx, id: string): Promise<SessionOfLetter | null> {
  const [row] = await tx.query<SessionOfLetter>(sessionForLetter, [tx.userId, id])
  return row ?? null
}

const endPersonRight = sql('people.end_person_right', 'select end_rights($1, array[$1]::uuid[])')
const endSessions = sql(
  'people.end_sessions',
  `update sessions set ended_at = service_now()
   where user_id = $1 and ended_at is null and expires_at > service_now() and ($2::uuid is null or id <> $2)`,
)
/**
 * Waits for all requests of the person's sessions, and makes later ones wait: one lock, however many sessions there are.
 * Comes before any lock on the password, as in every transaction that takes both.
 */
export const endPersonRights = (tx: PersonTx): void => tx.send(endPersonRight, [tx.userId])

/**
 * Ends sessions, after `endPersonRights`. A changed password comes before, so that a sign-in with the old one has
 * committed its session, or finds the new password.
 * @param but the session to keep; null: none.
 */
export const endSessionRows = (tx: PersonTx, but: string | null): void =>
  tx.send(endSessions, [tx.userId, but])

const endOldestSessions = sql(
  'people.end_oldest_sessions',
  `update sessions set ended_at = service_now() where user_id = $1 and id = any(array(
     select id from sessions where user_id = $1 and ended_at is null and expires_at > service_now()
     order by created_at desc, id desc offset $2))`,
)
/**
 * Ends the oldest live sessions, after `endPersonRights`.
 * @param kept how many stay.
 */
export const endOldestSessionRows = (tx: PersonTx, kept: number): void =>
  tx.send(endOldestSessions, [tx.userId, kept])

const moveSession = sql(
  'people.move_session',
  `update sessions set acts_in = $3 where user_id = $1 and id = $2 and ended_at is null returning ${sessionColumns}`,
)
/** @returns the session as it is now, or null when it has ended. */
export async function moveSessionRow(tx: PersonTx, id: string, to: string): Promise<SessionRow | null> {
  const [row] = await tx.query<SessionRow>(moveSession, [tx.userId, id, to])
  return row ?? null
}

export type TokenKind = 'verification' | 'password_reset'

const putToken = sql(
  'people.put_token',
  `insert into mail_tokens (user_id, kind, digest, created_at, expires_at)
   values ($1, $2, $3, service_now(), service_now() + make_interval(hours => $4))
   on conflict (user_id, kind) do update
     set digest = excluded.digest, created_at = excluded.created_at, expires_at = excluded.expires_at, used_at = null`,
)
/** Replaces the token before. */
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
/** @returns false when it is wrong, used, expired or replaced. Only one of two concurrent calls gets true. */
export async function consumeToken(tx: PersonTx, kind: TokenKind, digest: Buffer): Promise<boolean> {
  return (await tx.query(useToken, [tx.userId, kind, digest])).length > 0
}

const retire = sql(
  'people.retire_token',
  'update mail_tokens set used_at = service_now() where user_id = $1 and kind = $2 and used_at is null',
)
export const retireToken = (tx: PersonTx, kind: TokenKind) => tx.send(retire, [tx.userId, kind])

/** Thirty days after the end. The credential goes first: a session without one cannot be found. */
export const pruneSessionRows = `with old as (
     select id from sessions where least(ended_at, expires_at) < service_now() - interval '30 days'
     limit 1000 for update skip locked
   ), credential as (
     delete from credentials where kind = 'session' and id in (select id from old)
   )
   delete from sessions where id in (select id from old)`

export const pruneTokenRows = `delete from mail_tokens where (user_id, kind) in (
     select user_id, kind from mail_tokens
     where least(used_at, expires_at) < service_now() - interval '30 days'
     limit 1000 for update skip locked)`
