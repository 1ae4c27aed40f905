import type { Membership, OtherSessionsEnded, Session, SignedIn, SignIn } from '@keyrail/contract/people'
import type { Paging } from '@keyrail/contract/shared'
import type { Caller } from '../gate/caller.ts'
import type { PersonPrincipal } from '../gate/principal.ts'
import { drawToken, sessionPrefix, tokenDigest } from '../platform/crypto/token.ts'
import type { Db } from '../platform/db/db.ts'
import { RightNotEnded } from '../platform/db/touch.ts'
import type { PersonTx } from '../platform/db/transaction.ts'
import type { Client } from '../platform/http/client.ts'
import { type QueuedMail, queueMail } from '../platform/mail/queue.ts'
import { page } from '../platform/paging/cursor.ts'
import { Refusal } from '../platform/refusal.ts'
import { deviceOf, isKnownDevice } from '../security-events/devices.ts'
import { recordEvent } from '../security-events/record.ts'
import { addressKey } from './address.ts'
import { deviceToken, laneOf, readDevice } from './device-lane.ts'
import type { PeopleNeeds } from './needs.ts'
import { eventOf } from './own-event.ts'
import { toSession, toUser } from './resource.ts'
import {
  addSession,
  endLeakedSessionRow,
  endOldestSessionRows,
  endOtherSessionRows,
  endPersonRights,
  endSessionRow,
  endSessionUse,
  listSessionRows,
  moveSessionRow,
  readSessionPlaces,
  type SessionPlaces,
} from './session-sql.ts'
import { listMemberships, readUser, type UserRow } from './sql.ts'
import { setProven } from './unproven-sql.ts'

/**
 * Opens a session. An unknown address and a wrong password get the same response at the same cost: one run of the hasher.
 * The workspaces of the person are read only after the password is verified.
 */
export async function signIn(
  deps: PeopleNeeds,
  db: Db,
  body: SignIn,
  client: Client,
  hangUp?: AbortSignal,
): Promise<SignedIn> {
  const { ip, userAgent } = client
  const address = addressKey(body.email)
  const account = await deps.accounts.run(address)
  const device = readDevice(deps, address, body.device_token, account?.devices ?? [])
  const lane = laneOf(device, ip)
  const caller = { ip, standing: device.isKnown ? 'known' : 'stranger' } as const
  const verify = () => deps.passwords.verify(account?.hash ?? null, body.password, caller)
  const isRight = await deps.signIns.check(address, lane, verify, hangUp)
  if (!isRight || account === null) {
    // Recorded for known and unknown addresses, and written later, so that the response reveals nothing.
    deps.securityEvents.note({
      ...eventOf(account?.userId ?? null, client),
      kind: 'sign_in_failed',
      actor: null,
    })
    throw wrongCredentials()
  }
  const origin = deviceOf(client)
  const open = async (tx: PersonTx): Promise<SignedIn> => {
    const [user, workspaces, hasUsed, places] = await Promise.all([
      readUser(tx),
      listMemberships(tx),
      isKnownDevice(tx, origin),
      readSessionPlaces(tx, ip, userAgent),
    ])
    const actsIn = placeOf(workspaces, body.workspace_id?.toLowerCase())
    if (places.live >= liveSessionsMax) {
      endPersonRights(tx)
      endOldestSessionRows(tx, liveSessionsMax - 1)
    }
    const token = drawToken(sessionPrefix.slice(0, -1), deps.randomBytes)
    const row = await addSession(tx, account.hash, {
      id: deps.makeId(),
      digest: tokenDigest(token),
      actsIn: actsIn?.id ?? null,
      userAgent,
      ip,
      deviceId: device.id,
      maxAgeS: deps.config.sessionMaxAgeS,
    })
    if (row === null || user === null) throw wrongCredentials()
    if (user.email_verified_at !== null && !user.is_proven) setProven(tx)
    const event = {
      ...eventOf(user.id, client),
      workspaceId: row.acts_in,
      details: { session_id: row.id },
    } as const
    recordEvent(deps, tx, { ...event, kind: 'sign_in' }, origin)
    if (!hasUsed && !places.isKnown && !isFirstSignIn(user, places, deps.clock.now())) {
      recordEvent(deps, tx, { ...event, kind: 'new_device' })
      // A stranger can choose the user agent, so an unverified address gets no mail that quotes it.
      if (user.email_verified_at !== null) queueMail(tx, newDeviceLetter(address, user.id, row.id))
    }
    const device_token = deviceToken(deps, address, device)
    return { ...toSession(row, row.id), token, device_token, user: toUser(user), workspaces }
  }
  return await db.asPerson(account.userId, open, { isProven: true })
}

/** How many live sessions a person has at most: the next sign-in ends the oldest. */
const liveSessionsMax = 100

/** Ended sessions are kept for 30 days, so a younger account without any session has never been signed in to. */
const isFirstSignIn = (user: UserRow, { hasAny }: SessionPlaces, now: number) =>
  !hasAny && now - user.created_at.getTime() < 30 * 24 * 3_600_000

const newDeviceLetter = (address: string, userId: string, sessionId: string): QueuedMail => ({
  kind: 'new_device',
  throttle: 'new_device',
  address,
  ids: { user_id: userId, session_id: sessionId },
})

/** @param asked the workspace that the person names; undefined: the person's only proven workspace. */
function placeOf(workspaces: readonly Membership[], asked: string | undefined): Membership | undefined {
  if (asked !== undefined) return entered(workspaces, asked)
  const proven = workspaces.filter(({ unproven }) => !unproven)
  return proven.length === 1 ? proven[0] : undefined
}

/** @throws {Refusal} unless the person is a member, and the workspace is not unproven. */
function entered(workspaces: readonly Membership[], asked: string): Membership {
  const found = workspaces.find(({ id }) => id === asked)
  if (found === undefined) throw notIn()
  if (found.unproven) throw new Refusal('workspace_unproven')
  return found
}

const wrongCredentials = () =>
  new Refusal('invalid_credentials', '', { headers: { 'www-authenticate': 'Bearer' } })
const notIn = () => new Refusal('forbidden', 'You are not a member of this workspace.')

export async function listSessions(
  { deps: { cursors, config }, db, principal: { id, sessionId } }: Caller<PeopleNeeds, PersonPrincipal>,
  { limit, cursor }: Paging,
) {
  const before = cursor === undefined ? null : cursors.open('sessions', id, cursor)
  const rows = await db.asPerson(id, tx => listSessionRows(tx, config.sessionIdleS, before, limit))
  return page(
    rows,
    limit,
    row => toSession(row, sessionId),
    last => cursors.seal('sessions', id, last.id),
  )
}

/** Ends one of the person's sessions. */
export async function endSession(
  { deps, db, principal: { id, sessionId: own } }: Caller<PeopleNeeds, PersonPrincipal>,
  sessionId: string,
  client: Client,
) {
  const end = async (tx: PersonTx) => {
    const ended = await endSessionRow(tx, sessionId)
    // The transaction holds the right of the current session, so the session exists.
    if (ended === null) throw sessionId === own ? new RightNotEnded('the session') : new Refusal('not_found')
    recordEvent(deps, tx, {
      ...eventOf(id, client),
      kind: 'session_ended',
      workspaceId: ended.acts_in,
      details: { session_id: sessionId },
    })
  }
  await db.asPerson(id, end, { changesRights: true })
  return { object: 'session', id: sessionId, deleted: true }
}

/** Ends every session of the person except the current one. A sign-in that commits later is not ended. */
export async function endOtherSessions(
  { deps, db, principal: { id, sessionId } }: Caller<PeopleNeeds, PersonPrincipal>,
  client: Client,
): Promise<OtherSessionsEnded> {
  const end = async (tx: PersonTx) => {
    endPersonRights(tx)
    const ended = await endOtherSessionRows(tx, sessionId)
    if (ended > 0)
      recordEvent(deps, tx, {
        ...eventOf(id, client),
        kind: 'session_ended',
        details: { kept_session_id: sessionId, ended },
      })
    return ended
  }
  const ended = await db.asPerson(id, end, { changesRights: true })
  return { status: 'other_sessions_ended', ended }
}

/** Waits for everything that the leaked session is still doing. Comes first, as `endRights` does for other credentials. */
export const stopLeakedSession = (tx: PersonTx, sessionId: string): void => endSessionUse(tx, sessionId)

/**
 * Ends a leaked session, after `stopLeakedSession`. The caller mails the session's person and records the event in the
 * workspace of the session.
 * @param url where the token was found.
 * @returns the `addressKey` of the person; null when the session had already ended.
 */
export const endLeakedSession = async (
  tx: PersonTx,
  sessionId: string,
  url: string | null,
): Promise<string | null> => (await endLeakedSessionRow(tx, sessionId, url))?.address_key ?? null

/** The session acts in another workspace from the next request on. Its token stays the same. */
export async function switchWorkspace(
  { deps, db, principal: { id, sessionId } }: Caller<PeopleNeeds, PersonPrincipal>,
  workspaceId: string,
  client: Client,
): Promise<Session> {
  const moved = await db.asPerson(id, async tx => {
    entered(await listMemberships(tx), workspaceId)
    const row = await moveSessionRow(tx, sessionId, workspaceId)
    if (row === null) throw new Refusal('unauthenticated')
    return toSession(row, sessionId)
  })
  // Folded into one row: any member can switch any number of times, and separate rows would flood the log of the owners.
  deps.securityEvents.note({
    ...eventOf(id, client),
    kind: 'workspace_entered',
    workspaceId,
    details: { session_id: sessionId },
  })
  return moved
}
