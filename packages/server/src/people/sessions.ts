import type { Session, SignedIn, SignIn } from '@keyrail/contract/people'
import type { Deps } from '../deps.ts'
import type { PersonPrincipal } from '../gate/principal.ts'
import { drawToken, sessionPrefix, tokenDigest } from '../platform/crypto/token.ts'
import { page } from '../platform/cursor.ts'
import type { PersonTx } from '../platform/db/transaction.ts'
import { Refusal } from '../platform/refusal.ts'
import { addressKey } from './address.ts'
import { toSession, toUser } from './resource.ts'
import {
  addSession,
  endLeakedSessionRow,
  endSessionRow,
  listMemberships,
  listSessionRows,
  moveSessionRow,
  readUser,
} from './sql.ts'

/** From where a session is opened, as its owner is shown it. */
export interface Device {
  ip: string
  userAgent: string | undefined
  /** Who hangs up waits for no turn. */
  hangUp?: AbortSignal
}

/**
 * Opens a session. An unknown address and a wrong password are told alike and cost the same: the hasher runs exactly
 * once. In which workspaces the person is, is looked at only when the password was right.
 */
export async function signIn(deps: Deps, body: SignIn, { ip, userAgent, hangUp }: Device): Promise<SignedIn> {
  const address = addressKey(body.email)
  const account = await deps.accounts.run(address)
  const verify = () => deps.passwords.verify(account?.hash ?? null, body.password)
  const isRight = await deps.signIns.check(address, ip, verify, hangUp)
  if (!isRight || account === null) throw wrongCredentials()
  return await deps.db.asPerson(account.userId, async tx => {
    const [user, workspaces] = await Promise.all([readUser(tx), listMemberships(tx)])
    const only = workspaces.length === 1 ? workspaces[0] : undefined
    const asked = body.workspace_id?.toLowerCase()
    const actsIn = asked === undefined ? only : workspaces.find(({ id }) => id === asked)
    if (asked !== undefined && actsIn === undefined) throw notIn()
    const token = drawToken(sessionPrefix.slice(0, -1), deps.randomBytes)
    const row = await addSession(tx, account.hash, {
      id: deps.makeId(),
      digest: tokenDigest(token),
      actsIn: actsIn?.id ?? null,
      userAgent: userAgent?.slice(0, userAgentMax) ?? null,
      ip: ip.slice(0, ipMax),
      maxAgeS: deps.config.sessionMaxAgeS,
    })
    if (row === null || user === null) throw wrongCredentials()
    return { ...toSession(row, row.id), token, user: toUser(user), workspaces }
  })
}

const userAgentMax = 500
const ipMax = 64

const wrongCredentials = () =>
  new Refusal('invalid_credentials', '', { headers: { 'www-authenticate': 'Bearer' } })
const notIn = () => new Refusal('forbidden', 'You are no member of this workspace.')

export interface ListQuery {
  limit?: number
  cursor?: string
}

export async function listSessions(
  { db, cursors, config }: Deps,
  { id, sessionId }: PersonPrincipal,
  { limit = 50, cursor }: ListQuery,
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

/** Ends one of the person's own sessions. */
export async function endSession({ db }: Deps, { id }: PersonPrincipal, sessionId: string) {
  if (!(await db.asPerson(id, tx => endSessionRow(tx, sessionId)))) throw new Refusal('not_found')
  return { object: 'session', id: sessionId, deleted: true }
}

/**
 * Ends a session whose token others can read. The caller writes to its person, and tells the workspace in which it acts.
 * @param url where the token was found.
 * @returns the `addressKey` of its person; null when it has ended already.
 */
export const endLeakedSession = async (
  tx: PersonTx,
  sessionId: string,
  url: string | null,
): Promise<string | null> => (await endLeakedSessionRow(tx, sessionId, url))?.address_key ?? null

/** The session acts in another workspace from now on. Its token stays the same. */
export function switchWorkspace(
  { db }: Deps,
  { id, sessionId }: PersonPrincipal,
  workspaceId: string,
): Promise<Session> {
  return db.asPerson(id, async tx => {
    const workspaces = await listMemberships(tx)
    if (!workspaces.some(workspace => workspace.id === workspaceId)) throw notIn()
    const row = await moveSessionRow(tx, sessionId, workspaceId)
    if (row === null) throw new Refusal('unauthenticated')
    return toSession(row, sessionId)
  })
}
