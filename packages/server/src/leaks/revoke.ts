import type { LeakPlace } from '@keyrail/contract/leaks'
import { type Actor, appendAudit, type Entry } from '../audit/append.ts'
import { revokeLeakedKey } from '../keys/actions.ts'
import { endLeakedSession } from '../people/sessions.ts'
import type { Db } from '../platform/db/db.ts'
import { asPersonTx, type Tx } from '../platform/db/transaction.ts'
import { type QueuedMail, queueMail } from '../platform/mail/queue.ts'
import { type LeakedEnd, revokeLeakedSecretKey } from '../secret-keys/actions.ts'
import { endMadeBy, type RevokedWith } from '../secret-keys/made-by.ts'
import type { NewEvent } from '../security-events/event.ts'
import { recordEvent } from '../security-events/record.ts'
import type { Leaked } from './find-leaked.ts'
import type { LeakNeeds } from './needs.ts'
import { lettersTo, type ReportLetters } from './report-letters.ts'
import { insertLeak, listRecipientRows, type RecipientRow } from './sql.ts'

export interface Leak {
  readonly leaked: Leaked
  readonly displayPrefix: string
  readonly place: LeakPlace
}

const codehost: Actor = { type: 'codehost', id: null }

/**
 * Revokes one credential in one transaction, with its audit row, the policy change for nodes, and a session's mail; the mail
 * about keys follows the report. A leaked secret key or session also ends what was made with it, since an attacker may have
 * made it. A credential that has already ended stays unchanged and causes nothing more.
 */
export async function revokeLeaked(
  deps: LeakNeeds,
  db: Db,
  leak: Leak,
  letters: ReportLetters,
): Promise<void> {
  const { kind, id, workspaceId, projectId } = leak.leaked
  if (kind === 'session') return await revokeSession(deps, db, leak)
  if (workspaceId === null) throw new Error(`the ${kind} has no workspace`)
  const letter = letters.to(workspaceId)
  const revoke = async (tx: Tx): Promise<LeakedEnd> =>
    kind === 'secret_key'
      ? await revokeLeakedSecretKey(deps, tx, codehost, id, leak.place)
      : { revoked: null, isRevoked: await revokeLeakedKey(deps, tx, codehost, { id, projectId }, leak.place) }
  const work = async (tx: Tx) => {
    const { isRevoked, revoked } = await revoke(tx)
    if (!isRevoked && revoked === null) return false
    recordLeak(deps, tx, leak, revoked, letter.id)
    letter.note(tx)
    return true
  }
  if (await db.inWorkspace(workspaceId, work, { changesRights: kind === 'secret_key' }))
    letter.isStored = true
}

/** In the workspace of the session, or in another one where something ended with it. */
const leakEvent = ({ leaked: { kind, id, userId } }: Leak, workspaceId: string | null): NewEvent => ({
  kind: 'credential_leaked',
  workspaceId,
  userId,
  actor: codehost,
  client: null,
  details: { credential_kind: kind, credential_id: id },
})

/** First the session, then everything made in it, in each workspace in which it may have acted. */
async function revokeSession(deps: LeakNeeds, db: Db, leak: Leak): Promise<void> {
  const { id, workspaceId, userId, allOfPerson } = leak.leaked
  // The row is deleted some time after the session has ended.
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

/** In the workspace of the session. */
async function endSession(deps: LeakNeeds, tx: Tx, leak: Leak, userId: string): Promise<void> {
  const { leaked, place } = leak
  const [recipients, address] = await Promise.all([
    listRecipientRows(tx),
    endLeakedSession(asPersonTx(tx, userId), leaked.id, place.url),
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
  recordSession(
    deps,
    tx,
    leak,
    recipients,
    made.revoked,
    address === null ? null : ownLetter(address, userId, leaked.id),
  )
}

/** In another workspace, once the session has ended. */
async function endMadeInSession(deps: LeakNeeds, tx: Tx, leak: Leak): Promise<void> {
  const at = deps.clock.now()
  const [recipients, { entries, revoked }] = await Promise.all([
    listRecipientRows(tx),
    endMadeBy(tx, { type: 'session', id: leak.leaked.id }, { revokesKeys: true, at }),
  ])
  if (entries.length === 0) return
  appendAudit(deps, tx, codehost, at, entries)
  recordSession(deps, tx, leak, recipients, revoked, null)
}

/** The person of the session gets a different mail. */
const ownLetter = (address: string, userId: string, sessionId: string): QueuedMail => ({
  kind: 'leaked_session',
  throttle: 'leak',
  address,
  ids: { user_id: userId, session_id: sessionId },
})

/**
 * Stores where the credential was found.
 * @param revoked what ended with it.
 * @param letterId the letter that names it beside others; null: its letter names nothing else.
 */
function recordLeak(
  deps: LeakNeeds,
  tx: Tx,
  leak: Leak,
  revoked: RevokedWith,
  letterId: string | null,
): void {
  const { id, kind } = leak.leaked
  const row = {
    credential_id: id,
    kind,
    display_prefix: leak.displayPrefix,
    ...leak.place,
    secret_keys_revoked: revoked?.secret_keys_revoked ?? 0,
    invitations_revoked: revoked?.invitations_revoked ?? 0,
  }
  insertLeak(tx, row, letterId)
  recordEvent(deps, tx, leakEvent(leak, tx.workspaceId))
}

/**
 * Queues the letters about a session, and stores where it was found.
 * @param own the mail to the person of the session, which replaces the owner's or the billing one.
 */
function recordSession(
  deps: LeakNeeds,
  tx: Tx,
  leak: Leak,
  recipients: readonly RecipientRow[],
  revoked: RevokedWith,
  own: QueuedMail | null,
): void {
  recordLeak(deps, tx, leak, revoked, null)
  const ids = { workspace_id: tx.workspaceId, credential_id: leak.leaked.id }
  for (const letter of lettersTo(recipients, 'leak', ids, own)) queueMail(tx, letter)
}
