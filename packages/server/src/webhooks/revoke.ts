import type { LeakPlace } from '@keyrail/contract/webhook'
import { type Actor, appendAudit } from '../audit/append.ts'
import type { Deps } from '../deps.ts'
import { revokeLeakedKey } from '../keys/actions.ts'
import { addressKey } from '../people/address.ts'
import { endLeakedSession } from '../people/sessions.ts'
import type { Db } from '../platform/db/pool.ts'
import type { Tx } from '../platform/db/transaction.ts'
import { queueMail } from '../platform/mail/queue.ts'
import { revokeLeakedSecretKey } from '../secret-keys/actions.ts'
import type { Leaked } from './find-leaked.ts'
import { insertLeak, listRecipientRows } from './sql.ts'

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
    const { url } = leak.place
    if (workspaceId === null) await db.asPerson(userId, tx => endLeakedSession(tx, id, url))
    else await db.inWorkspace(workspaceId, tx => endSession(deps, tx, leak, userId), { userId })
    return
  }
  if (workspaceId === null) throw new Error(`the ${kind} is of no workspace`)
  const revoke = kind === 'api_key' ? revokeLeakedKey : revokeLeakedSecretKey
  await db.inWorkspace(workspaceId, async tx => {
    const [recipients, isRevoked] = await Promise.all([
      listRecipientRows(tx),
      revoke(deps, tx, codehost, id, leak.place),
    ])
    if (isRevoked) tell(tx, leak, recipients)
  })
}

async function endSession(deps: Deps, tx: Tx, leak: Leak, userId: string): Promise<void> {
  const { leaked, place } = leak
  const [recipients, isEnded] = await Promise.all([
    listRecipientRows(tx),
    endLeakedSession({ ...tx, userId }, leaked.id, place.url),
  ])
  if (!isEnded) return
  appendAudit(deps, tx, codehost, deps.clock.now(), [
    {
      action: 'session.revoked',
      targetType: 'session',
      targetId: leaked.id,
      env: null,
      payload: { reason: 'leaked', ...place },
    },
  ])
  // Whose session it is has a letter of their own.
  tell(
    tx,
    leak,
    recipients.filter(({ user_id }) => user_id !== userId),
  )
}

/** Writes down where it was found, and a letter to each who is to know; to one address once. */
function tell(tx: Tx, { leaked, displayPrefix, place }: Leak, recipients: readonly Recipient[]): void {
  insertLeak(tx, {
    credential_id: leaked.id,
    kind: leaked.kind,
    display_prefix: displayPrefix,
    ...place,
  })
  const ids = { workspace_id: tx.workspaceId, credential_id: leaked.id }
  // Owners come first, so that an address that is the billing address too is written to as its owner's.
  const addresses = new Map<string, string | null>()
  for (const { user_id, email } of recipients) {
    const address = addressKey(email)
    if (!addresses.has(address)) addresses.set(address, user_id)
  }
  // In one order: each takes the lock of its throttle, and two workspaces may have the same owners.
  for (const [address, userId] of [...addresses].toSorted(([a], [b]) => (a < b ? -1 : 1))) {
    queueMail(tx, {
      kind: 'leak',
      throttle: 'leak',
      address,
      ids: userId === null ? ids : { ...ids, user_id: userId },
    })
  }
}
type Recipient = Awaited<ReturnType<typeof listRecipientRows>>[number]
