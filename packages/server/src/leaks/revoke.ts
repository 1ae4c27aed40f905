import type { LeakPlace } from '@keyrail/contract/leaks'
import { type Actor, appendAudit, type Entry } from '../audit/append.ts'
import { revokeLeakedKey } from '../keys/actions.ts'
import { endLeakedSession, stopLeakedSession } from '../people/sessions.ts'
import type { Db } from '../platform/db/db.ts'
import { asPersonTx, type Tx } from '../platform/db/transaction.ts'
import { type QueuedMail, queueMail } from '../platform/mail/queue.ts'
import { type LeakedEnd, revokeLeakedSecretKey } from '../secret-keys/actions.ts'
import { beginEnding, endMakers, hasMadeLeft } from '../secret-keys/ending.ts'
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
      : {
          isRevoked: await revokeLeakedKey(deps, tx, codehost, { id, projectId }, leak.place),
          endsMore: false,
        }
  const work = async (tx: Tx): Promise<LeakedEnd> => {
    const end = await revoke(tx)
    if (end.isRevoked || end.endsMore) {
      recordLeak(deps, tx, leak, letter.id)
      letter.note(tx)
    }
    return end
  }
  const end = await db.inWorkspace(workspaceId, work, { changesRights: kind === 'secret_key' })
  if (end.isRevoked || end.endsMore) letter.isStored = true
  if (end.endsMore) await deps.endings.follow(workspaceId, { type: 'secret_key', id })
}

/** In the workspace of the session, or in another workspace where something ended with the session. */
const leakEvent = ({ leaked: { kind, id, userId } }: Leak, workspaceId: string | null): NewEvent => ({
  kind: 'credential_leaked',
  workspaceId,
  userId,
  actor: codehost,
  client: null,
  details: { credential_kind: kind, credential_id: id },
})

/** Ends first the session, then everything made in it, in each workspace in which the session may have acted. */
async function revokeSession(deps: LeakNeeds, db: Db, leak: Leak): Promise<void> {
  const { id, workspaceId, userId, allOfPerson } = leak.leaked
  // The row is deleted some time after the session has ended.
  if (userId === null) return
  const options = { userId, changesRights: true } as const
  const ending: string[] = []
  if (workspaceId === null)
    await db.asPerson(
      userId,
      async tx => {
        stopLeakedSession(tx, id)
        const address = await endLeakedSession(tx, id, leak.place.url)
        if (address === null) return
        recordEvent(deps, tx, leakEvent(leak, null))
        queueMail(tx, ownLetter(address, userId, id))
      },
      { changesRights: true },
    )
  else if (await db.inWorkspace(workspaceId, tx => endSession(deps, tx, leak, userId), options))
    ending.push(workspaceId)
  for (const other of allOfPerson)
    if (other !== workspaceId && (await db.inWorkspace(other, tx => endElsewhere(deps, tx, leak), options)))
      ending.push(other)
  // What was made in the session ends once the session has ended everywhere.
  for (const place of ending) await deps.endings.follow(place, { type: 'session', id })
}

/** Runs in the workspace of the session. @returns whether anything made in the session ends there too. */
async function endSession(deps: LeakNeeds, tx: Tx, leak: Leak, userId: string): Promise<boolean> {
  const { leaked, place } = leak
  const asPerson = asPersonTx(tx, userId)
  // An acceptance by the session holds the session and then waits for ends of makers.
  stopLeakedSession(asPerson, leaked.id)
  endMakers(tx, [])
  const [recipients, address] = await Promise.all([
    listRecipientRows(tx),
    endLeakedSession(asPerson, leaked.id, place.url),
  ])
  // The session ended before this report, so only what was made in it is new.
  if (address === null) return await endElsewhere(deps, tx, leak)
  const ended: Entry = {
    action: 'session.revoked',
    targetType: 'session',
    targetId: leaked.id,
    env: null,
    payload: { reason: 'leaked', ...place },
  }
  appendAudit(deps, tx, codehost, deps.clock.now(), [ended])
  recordSession(deps, tx, leak, recipients, ownLetter(address, userId, leaked.id))
  return await beginEndOfMade(deps, tx, leak)
}

/** Runs in a workspace where the session itself does not end. @returns whether anything made in the session ends there. */
async function endElsewhere(deps: LeakNeeds, tx: Tx, leak: Leak): Promise<boolean> {
  endMakers(tx, [])
  const [recipients, isLeft] = await Promise.all([
    listRecipientRows(tx),
    hasMadeLeft(tx, { type: 'session', id: leak.leaked.id }),
  ])
  if (!isLeft) return false
  recordSession(deps, tx, leak, recipients, null)
  return await beginEndOfMade(deps, tx, leak)
}

const beginEndOfMade = (deps: LeakNeeds, tx: Tx, { leaked }: Leak): Promise<boolean> =>
  beginEnding(
    tx,
    { type: 'session', id: leaked.id },
    { revokesKeys: true, actor: codehost, at: deps.clock.now() },
  )

/** The person of the session gets a different mail. */
const ownLetter = (address: string, userId: string, sessionId: string): QueuedMail => ({
  kind: 'leaked_session',
  throttle: 'leak',
  isAlarm: true,
  address,
  ids: { user_id: userId, session_id: sessionId },
})

/**
 * Stores where the credential was found.
 * @param letterId the letter that names several credentials; null: the letter names only this one.
 */
function recordLeak(deps: LeakNeeds, tx: Tx, leak: Leak, letterId: string | null): void {
  const { id, kind } = leak.leaked
  insertLeak(tx, { credential_id: id, kind, display_prefix: leak.displayPrefix, ...leak.place }, letterId)
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
  own: QueuedMail | null,
): void {
  recordLeak(deps, tx, leak, null)
  const ids = { workspace_id: tx.workspaceId, credential_id: leak.leaked.id }
  for (const letter of lettersTo(recipients, 'leak', ids, own)) queueMail(tx, letter)
}
