import type { LeakPlace } from '@keyrail/contract/webhook'
import { type Actor, appendAudit, type Entry } from '../audit/append.ts'
import type { Deps } from '../deps.ts'
import { revokeLeakedKey } from '../keys/actions.ts'
import { addressKey } from '../people/address.ts'
import { endLeakedSession } from '../people/sessions.ts'
import type { Db } from '../platform/db/pool.ts'
import type { Tx } from '../platform/db/transaction.ts'
import { type QueuedMail, queueMail } from '../platform/mail/queue.ts'
import { type LeakedEnd, revokeLeakedSecretKey } from '../secret-keys/actions.ts'
import { endMadeBy, type RevokedWith } from '../secret-keys/made-by.ts'
import type { NewEvent } from '../security-events/event.ts'
import { recordEvent } from '../security-events/record.ts'
import type { Leaked } from './find-leaked.ts'
import { insertLeak, listRecipientRows, type RecipientRow } from './sql.ts'

export interface Leak {
  readonly leaked: Leaked
  readonly displayPrefix: string
  readonly place: LeakPlace
}

const codehost: Actor = { type: 'codehost', id: null }

/**
 * Ends one credential, in a transaction of its own: with its audit row, what nodes must hear of, and the mail that tells
 * of it. With a secret key or a session ends what was made with it, since nobody knows by whom. What was ended before is
 * left as it is, and leaves nothing more.
 */
export async function revokeLeaked(deps: Deps, db: Db, leak: Leak): Promise<void> {
  const { kind, id, workspaceId } = leak.leaked
  if (kind === 'session') return await revokeSession(deps, db, leak)
  if (workspaceId === null) throw new Error(`the ${kind} is of no workspace`)
  const revoke = async (tx: Tx): Promise<LeakedEnd> =>
    kind === 'secret_key'
      ? await revokeLeakedSecretKey(deps, tx, codehost, id, leak.place)
      : { revoked: null, isRevoked: await revokeLeakedKey(deps, tx, codehost, id, leak.place) }
  const work = async (tx: Tx) => {
    const [recipients, { isRevoked, revoked }] = await Promise.all([listRecipientRows(tx), revoke(tx)])
    if (isRevoked || revoked !== null) tell(deps, tx, leak, recipients, revoked, null)
  }
  await db.inWorkspace(workspaceId, work, { changesRights: kind === 'secret_key' })
}

/** Of the workspace in which it acts, or of another in which something ended with it. */
const leakEvent = ({ leaked: { kind, id, userId } }: Leak, workspaceId: string | null): NewEvent => ({
  kind: 'credential_leaked',
  workspaceId,
  userId,
  actor: codehost,
  client: null,
  details: { credential_kind: kind, credential_id: id },
})

/** First the session, and then what was made in it, in each workspace in which it may have acted. */
async function revokeSession(deps: Deps, db: Db, leak: Leak): Promise<void> {
  const { id, workspaceId, userId, allOfPerson } = leak.leaked
  // Its row is gone, long after its end.
  if (userId === null) return
  if (workspaceId !== null)
    await db.inWorkspace(workspaceId, tx => endSession(deps, tx, leak, userId), {
      userId,
      changesRights: true,
    })
  else
    await db.asPerson(
      userId,
      async tx => {
        const address = await endLeakedSession(tx, id, leak.place.url)
        if (address === null) return
        recordEvent(deps, tx, leakEvent(leak, null))
        queueMail(tx, ownLetter(address, userId, id))
      },
      { changesRights: true },
    )
  for (const other of allOfPerson)
    if (other !== workspaceId)
      await db.inWorkspace(other, tx => endMadeInSession(deps, tx, leak), { changesRights: true })
}

/** In the workspace in which it acts. */
async function endSession(deps: Deps, tx: Tx, leak: Leak, userId: string): Promise<void> {
  const { leaked, place } = leak
  const [recipients, address] = await Promise.all([
    listRecipientRows(tx),
    endLeakedSession({ ...tx, userId }, leaked.id, place.url),
  ])
  const at = deps.clock.now()
  const made = await endMadeBy(tx, { type: 'session', id: leaked.id }, { revokesKeys: true, at })
  if (address === null && made.entries.length === 0) return
  const ended: Entry = {
    action: 'session.revoked',
    targetType: 'session',
    targetId: leaked.id,
    env: null,
    payload: { reason: 'leaked', ...place, ...made.revoked },
  }
  appendAudit(deps, tx, codehost, at, address === null ? made.entries : [ended, ...made.entries])
  tell(
    deps,
    tx,
    leak,
    recipients,
    made.revoked,
    address === null ? null : ownLetter(address, userId, leaked.id),
  )
}

/** In another workspace, once the session has ended. */
async function endMadeInSession(deps: Deps, tx: Tx, leak: Leak): Promise<void> {
  const at = deps.clock.now()
  const [recipients, { entries, revoked }] = await Promise.all([
    listRecipientRows(tx),
    endMadeBy(tx, { type: 'session', id: leak.leaked.id }, { revokesKeys: true, at }),
  ])
  if (entries.length === 0) return
  appendAudit(deps, tx, codehost, at, entries)
  tell(deps, tx, leak, recipients, revoked, null)
}

/** Whose session it is has a letter of their own. */
const ownLetter = (address: string, userId: string, sessionId: string): QueuedMail => ({
  kind: 'leaked_session',
  throttle: 'leak',
  address,
  ids: { user_id: userId, session_id: sessionId },
})

/**
 * Writes down where it was found, and queues a letter to each who is to know; to one address once.
 * @param revoked what ended with it.
 * @param own to whose session it is, in place of the owner's or the billing one.
 */
function tell(
  deps: Deps,
  tx: Tx,
  leak: Leak,
  recipients: readonly RecipientRow[],
  revoked: RevokedWith,
  own: QueuedMail | null,
): void {
  const { id, kind } = leak.leaked
  insertLeak(tx, {
    credential_id: id,
    kind,
    display_prefix: leak.displayPrefix,
    ...leak.place,
    secret_keys_revoked: revoked?.secret_keys_revoked ?? 0,
    invitations_revoked: revoked?.invitations_revoked ?? 0,
  })
  recordEvent(deps, tx, leakEvent(leak, tx.workspaceId))
  const letters = new Map<string, QueuedMail>()
  if (own !== null) letters.set(own.address, own)
  // Owners come first, so that an address that is the billing one too is written to as its owner's.
  for (const { user_id, email } of recipients) {
    const address = addressKey(email)
    if (letters.has(address)) continue
    const ids = { workspace_id: tx.workspaceId, credential_id: id, ...(user_id !== null && { user_id }) }
    letters.set(address, { kind: 'leak', throttle: 'leak', address, ids })
  }
  // In one order, whoever else is written to: each takes the lock of its throttle until the commit.
  const ordered = [...letters.values()].toSorted((a, b) => (a.address < b.address ? -1 : 1))
  for (const letter of ordered) queueMail(tx, letter)
}
