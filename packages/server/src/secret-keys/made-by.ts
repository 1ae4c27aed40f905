import type { SecretKey } from '@keyrail/contract/vendor/secret-keys'
import type { Entry } from '../audit/append.ts'
import { credentialsTopic } from '../gate/hot-credentials.ts'
import { revokeInvitesMadeBy } from '../invites/revocation.ts'
import { cascadeMs, type Db } from '../platform/db/db.ts'
import { endRights } from '../platform/db/right.ts'
import type { Tx } from '../platform/db/transaction.ts'
import { Deadline } from '../platform/deadline.ts'
import { toSecretKey } from './resource.ts'
import { listRowsMadeBy, type MadeRow, type Maker, revokeSecretKeyRows, type SecretKeyRow } from './sql.ts'

export type { Maker }

/** What happened to everything made by a maker. */
export interface MadeBy {
  /** With `revokesKeys`, the keys that the cascade revoked, now or earlier; otherwise those still active. Newest first. */
  keys: SecretKey[]
  /** Audit entries, for the caller to append after the maker's own. */
  entries: Entry[]
  revoked: RevokedWith
}

/** How many ended with their maker, as the maker's audit row has it; null if none. */
export type RevokedWith = { secret_keys_revoked: number; invitations_revoked: number } | null

/** For a transaction that revokes every key of a maker: even with thousands of keys it must be able to finish. */
export const withTimeForAll = (db: Db): Db => db.by(new Deadline(cascadeMs))

/** Active secret keys made by the maker, or by a key descending from it. Newest first. */
export const listKeysMadeBy = async (tx: Tx, maker: Maker): Promise<SecretKey[]> =>
  toKeys((await listRowsMadeBy(tx, maker)).filter(row => row.is_active))

/**
 * Ends what was made by a maker that has lost its rights: the pending invitations made by it or by keys descending from
 * it, and with `revokesKeys` those keys too. Runs in a transaction with `changesRights`, after `endRights` for the
 * maker, so that everything its requests were still writing is committed and visible.
 */
export async function endMadeBy(
  tx: Tx,
  maker: Maker,
  { revokesKeys, at }: { revokesKeys: boolean; at: number },
): Promise<MadeBy> {
  const rows = revokesKeys ? await endRightsMadeBy(tx, maker) : await listRowsMadeBy(tx, maker)
  const active = rows.filter(row => row.is_active)
  const ancestor = { type: maker.type, id: maker.id }
  const [revoked, invites] = await Promise.all([
    revokesKeys && active.length > 0 ? revokeSecretKeyRows(tx, idsOf(active), new Date(at), cascaded) : [],
    revokeInvitesMadeBy(tx, ancestor, idsOf(rows)),
  ])
  if (revoked.length > 0) tx.announce(credentialsTopic)
  const now = new Map(revoked.map(row => [row.id, row]))
  const keys = revokesKeys
    ? rows.map(row => now.get(row.id) ?? row).filter(row => row.revoked_reason === cascaded)
    : active
  return {
    keys: toKeys(keys),
    entries: [...rows.filter(({ id }) => now.has(id)).map(row => keyRevoked(row, ancestor)), ...invites],
    revoked:
      revoked.length + invites.length === 0
        ? null
        : { secret_keys_revoked: revoked.length, invitations_revoked: invites.length },
  }
}

/** The reason of a revocation that follows from the end of a maker. */
const cascaded = 'cascade'

const keyRevoked = ({ id, env }: SecretKeyRow, ancestor: Maker): Entry => ({
  action: 'secret_key.revoked',
  targetType: 'secret_key',
  targetId: id,
  env,
  payload: { reason: cascaded, ancestor },
})

/**
 * Ends the rights of all keys made by a maker, and repeats until it finds no more. A key made before its maker lost its
 * rights is found by the next round; after that no further key can be made.
 */
async function endRightsMadeBy(tx: Tx, maker: Maker): Promise<MadeRow[]> {
  for (let known = 0; ; ) {
    const rows = await listRowsMadeBy(tx, maker)
    if (rows.length === known) return rows
    known = rows.length
    const ended = rows.length > endedEachMax ? [tx.workspaceId] : idsOf(rows)
    endRights(tx, ended)
  }
}

/** Postgres has a few thousand locks in total. Beyond this many keys, one lock on the workspace replaces theirs. */
const endedEachMax = 500

const idsOf = (rows: readonly { id: string }[]) => rows.map(({ id }) => id)
/** From oldest first to newest first. */
const toKeys = (rows: readonly SecretKeyRow[]) => rows.map(toSecretKey).reverse()
