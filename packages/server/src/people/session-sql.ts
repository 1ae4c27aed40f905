import { sql } from '../platform/db/connection.ts'
import { RightNotEnded } from '../platform/db/touch.ts'
import type { PersonTx } from '../platform/db/transaction.ts'

export interface SessionRow {
  id: string
  acts_in: string | null
  user_agent: string | null
  ip: string | null
  created_at: Date
  last_seen_at: Date
  expires_at: Date
}

/** A session has no workspace once its person has left it or the workspace is gone. */
const sessionColumns = `id, user_agent, ip, created_at, last_seen_at, expires_at,
  (select m.workspace_id from workspace_members m
   where m.workspace_id = sessions.acts_in and m.user_id = sessions.user_id and m.removed_at is null) as acts_in`

/**
 * The new row makes a concurrent change of the password wait, and the change then ends this session and the device too; an
 * earlier change is visible. A person has the ten devices that signed in last. The clock is read once: an inlined call would
 * give each column a different time.
 */
const insertSession = sql(
  'people.insert_session',
  `with person as (
     update user_passwords set devices = (array_prepend($8::uuid, array_remove(devices, $8::uuid)))[1:10]
     where user_id = $1 and hash = $2 returning user_id
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
  /** The device is stored as one that knows the password. */
  deviceId: string
  maxAgeS: number
}
/** @param hash of the password that was verified. @returns null when the stored hash has changed. */
export async function addSession(
  tx: PersonTx,
  hash: string,
  session: NewSession,
): Promise<SessionRow | null> {
  const { id, digest, actsIn, userAgent, ip, maxAgeS, deviceId } = session
  const values = [tx.userId, hash, id, actsIn, userAgent, ip, maxAgeS, deviceId]
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
/** Waits for all requests of the session, and makes later ones wait. Comes before every lock that such a request may wait for. */
export const endSessionUse = (tx: PersonTx, id: string): void => tx.send(endSessionRight, [tx.userId, id])
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
  endSessionUse(tx, id)
  const [row] = await tx.query<SessionRow>(endSession, [tx.userId, id])
  if (row === undefined) await hasEnded(tx, id)
  return row ?? null
}

export interface SessionPlaces {
  /** Whether the person has any session, ended or not. */
  hasAny: boolean
  /** Whether one of the newest sessions was opened from the same address by the same program. */
  isKnown: boolean
  /** How many sessions are neither ended nor expired. */
  live: number
}
/** How many of a person's newest sessions are kept: older ended sessions are deleted, and no sign-in reads them. */
const keptOfPerson = 1_000

export const sessionPlaces = sql(
  'people.session_places',
  `select exists (select from sessions where user_id = $1) as "hasAny",
     exists (select from (
         select ip, user_agent from sessions where user_id = $1 order by id desc limit ${keptOfPerson}) recent
       where ip is not distinct from $2 and user_agent is not distinct from $3) as "isKnown",
     (select count(*)::int from sessions
      where user_id = $1 and ended_at is null and expires_at > service_now()) as live`,
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
 * @returns null when the session had already ended.
 * @throws {RightNotEnded} when the session is still live, or cannot be seen.
 */
export async function endLeakedSessionRow(
  tx: PersonTx,
  id: string,
  url: string | null,
): Promise<{ address_key: string } | null> {
  const [row] = await tx.query<{ address_key: string }>(endLeakedSession, [tx.userId, id, url])
  // The session was found just before, and its row stays for days after its end.
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
 * Waits for all requests of the person's sessions, and makes later ones wait: one lock, however many sessions there are. Comes
 * before any lock on the password, as in every transaction that takes both locks.
 */
export const endPersonRights = (tx: PersonTx): void => tx.send(endPersonRight, [tx.userId])

/**
 * Ends sessions, after `endPersonRights`. A change of the password comes before this, so that a sign-in with the old password
 * has committed its session, or finds the new password.
 * @param but the session to keep; null: none.
 */
export const endSessionRows = (tx: PersonTx, but: string | null): void =>
  tx.send(endSessions, [tx.userId, but])

const endOthers = sql(
  'people.end_other_sessions',
  `with ended as (
     update sessions set ended_at = service_now()
     where user_id = $1 and id <> $2 and ended_at is null and expires_at > service_now() returning 1
   ) select count(*)::int as ended from ended`,
)
const otherSessionsLeft = sql('people.other_sessions_left', 'select must_touch(0, sessions_left($1, $2))')
/**
 * Ends every session but one, after `endPersonRights`, and fails the transaction if another one still works.
 * @returns how many have ended.
 */
export async function endOtherSessionRows(tx: PersonTx, but: string): Promise<number> {
  const [row] = await tx.query<{ ended: number }>(endOthers, [tx.userId, but])
  tx.send(otherSessionsLeft, [tx.userId, but])
  return row?.ended ?? 0
}

const leftRights = sql('people.left_rights', 'select must_touch(0, rights_left($1, $2))')
/**
 * Fails the transaction if a session or a link of a reset still works: the writes before may have changed no row, and nobody
 * knows how many rows they had to change.
 * @param but the session that stays; null: none.
 */
export const assertNoRightsLeft = (tx: PersonTx, but: string | null): void =>
  tx.send(leftRights, [tx.userId, but])

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

/** Thirty days after the end. The credential goes first: a session without one cannot be found. */
export const pruneSessionRows = `with old as (
     select id from sessions where least(ended_at, expires_at) < service_now() - interval '30 days'
     limit 1000 for update skip locked
   ), credential as (
     delete from credentials where kind = 'session' and id in (select id from old)
   )
   delete from sessions where id in (select id from old)`

/** A person may sign in any number of times within thirty days. Live sessions stay, however old they are. */
export const pruneCrowdedSessionRows = `with crowded as (
     select user_id from sessions group by user_id having count(*) > ${keptOfPerson} limit 20
   ), old as (
     select s.id from crowded c cross join lateral (
       select id from sessions where user_id = c.user_id order by id desc offset ${keptOfPerson}
     ) beyond join sessions s on s.id = beyond.id
     where least(s.ended_at, s.expires_at) < service_now() limit 1000 for update of s skip locked
   ), credential as (
     delete from credentials where kind = 'session' and id in (select id from old)
   )
   delete from sessions where id in (select id from old)`
