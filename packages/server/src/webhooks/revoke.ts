import type { LeakPlace } from '@keyrail/contract/webhook'
import { type Actor, appendAudit } from '../audit/append.ts'
import type { Deps } from '../deps.ts'
import { revokeLeakedKey } from '../keys/actions.ts'
import { addressKey } from '../people/address.ts'
import { endLeakedSession } from '../people/sessions.ts'
import type { Db } from '../platform/db/pool.ts'
import type { Tx } from '../platform/db/transaction.ts'
import { type QueuedMail, queueMail } from '../platform/mail/queue.ts'
import { revokeLeakedSecretKey } from '../secret-keys/actions.ts'
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
 * of it. One that was ended before is left as it is, and leaves nothing more.
 */
export async function revokeLeaked(deps: Deps, db: Db, leak: Leak): Promise<void> {
  const { kind, id, workspaceId, userId } = leak.leaked
  if (kind === 'session') {
    // Its row is gone, long after its end.
    if (userId === null) return
    if (workspaceId !== null)
      await db.inWorkspace(workspaceId, tx => endSession(deps, tx, leak, userId), { userId })
    else
      await db.asPerson(userId, async tx => {
        const address = await endLeakedSession(tx, id, leak.place.url)
        if (address !== null) queueMail(tx, ownLetter(address, userId, id))
      })
    return
  }
  if (workspaceId === null) throw new Error(`the ${kind} is of no workspace`)
  const revoke = kind === 'api_key' ? revokeLeakedKey : revokeLeakedSecretKey
  await db.inWorkspace(workspaceId, async tx => {
    const [recipients, isRevoked] = await Promise.all([
      listRecipientRows(tx),
      revoke(deps, tx, codehost, id, leak.place),
    ])
    if (isRevoked) tell(tx, leak, recipients, null)
  })
}

async function endSession(deps: Deps, tx: Tx, leak: Leak, userId: string): Promise<void> {
  const { leaked, place } = leak
  const [recipients, address] = await Promise.all([
    listRecipientRows(tx),
    endLeakedSession({ ...tx, userId }, leaked.id, place.url),
  ])
  if (address === null) return
  appendAudit(deps, tx, codehost, deps.clock.now(), [
    {
      action: 'session.revoked',
      targetType: 'session',
      targetId: leaked.id,
      env: null,
      payload: { reason: 'leaked', ...place },
    },
  ])
  tell(tx, leak, recipients, ownLetter(address, userId, leaked.id))
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
 * @param own to whose session it is, in place of the owner's or the billing one.
 */
function tell(tx: Tx, leak: Leak, recipients: readonly RecipientRow[], own: QueuedMail | null): void {
  const { id, kind } = leak.leaked
  insertLeak(tx, { credential_id: id, kind, display_prefix: leak.displayPrefix, ...leak.place })
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
