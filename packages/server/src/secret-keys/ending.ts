import { type Actor, appendAudit, type Entry } from '../audit/append.ts'
import { credentialsTopic } from '../gate/hot-credentials.ts'
import { revokeInvitesBelow } from '../invites/revocation.ts'
import type { Clock } from '../platform/clock.ts'
import { endRights, stopAcceptances } from '../platform/db/right.ts'
import type { Tx } from '../platform/db/transaction.ts'
import { beginEndingRow, hasLeftToEnd, lockUndoneEnding, noteEnded } from './ending-sql.ts'
import { cascaded, type Maker, readActiveMade, revokeSecretKeyRows } from './made-sql.ts'

/**
 * When a maker loses its rights, what it made ends too: the pending invitations made by the maker or by keys descending from
 * it, and on request those keys. The maker's holder, who may be an attacker, decides how many these are. So the maker ends
 * first, alone, and what it made follows in batches.
 */

/** What ending a maker needs. */
export interface EndNeeds {
  readonly clock: Clock
  readonly randomBytes: (size: number) => Buffer
}

/**
 * Waits for everything that the makers' requests are still writing, and for acceptances of invitations. Comes first in a
 * transaction that ends makers, before any row.
 * @param ids of secret keys and members; empty for a session, whose own lock comes before.
 */
export function endMakers(tx: Tx, ids: readonly string[]): void {
  if (ids.length > 0) endRights(tx, ids)
  tx.send(stopAcceptances, [tx.workspaceId])
}

/** Whether anything still works that the maker, or keys below it, made. */
export const hasMadeLeft = (tx: Tx, maker: Maker): Promise<boolean> => hasLeftToEnd(tx, maker)

/**
 * Notes that what the maker made is to end. Runs in the transaction that ends the maker, after `endMakers`, so that everything
 * that the maker made is committed and found.
 * @returns false when the maker has made nothing.
 */
export const beginEnding = (
  tx: Tx,
  maker: Maker,
  { revokesKeys, actor, at }: { revokesKeys: boolean; actor: Actor; at: number },
): Promise<boolean> => beginEndingRow(tx, maker, revokesKeys, actor, new Date(at))

/** How many keys and invitations end in one transaction. Postgres has a few thousand locks, and each key takes one. */
const endedMax = 200

/**
 * Ends the next batch, in a transaction with `changesRights`.
 * @returns false when nothing is left.
 */
export async function endNextBatch(deps: EndNeeds, tx: Tx, maker: Maker): Promise<boolean> {
  const ending = await lockUndoneEnding(tx, maker)
  if (ending === null) return false
  const at = deps.clock.now()
  const keys = ending.revokes_keys ? await endKeysMade(tx, maker, at) : []
  const quota = endedMax - keys.length
  // A key may make keys and invitations until it ends itself, so invitations end after the last key.
  const invites = quota > 0 ? await revokeInvitesBelow(tx, maker, quota) : []
  const isDone = invites.length < quota
  noteEnded(tx, maker, keys.length, invites.length, isDone ? new Date(at) : null)
  if (keys.length > 0) tx.announce(credentialsTopic)
  const entries = [...keys, ...invites]
  const actor = { type: ending.actor_type, id: ending.actor_id }
  if (entries.length > 0) appendAudit(deps, tx, actor, at, entries)
  return !isDone
}

/**
 * Revokes keys below the maker, and repeats until no more are found or the batch is full. A key that was made before its maker
 * lost its rights is found by the next round; after the loss no key can be made.
 */
async function endKeysMade(tx: Tx, maker: Maker, at: number): Promise<Entry[]> {
  const entries: Entry[] = []
  for (;;) {
    const ids = await readActiveMade(tx, maker, endedMax - entries.length)
    if (ids.length === 0) return entries
    endRights(tx, ids)
    const revoked = await revokeSecretKeyRows(tx, ids, new Date(at))
    revoked.sort((a, b) => (a.id < b.id ? -1 : 1))
    for (const { id, env } of revoked)
      entries.push({
        action: 'secret_key.revoked',
        targetType: 'secret_key',
        targetId: id,
        env,
        payload: { reason: cascaded, ancestor: { ...maker } },
      })
    if (entries.length >= endedMax) return entries
  }
}
