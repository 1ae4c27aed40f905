import type { SecretKey } from '@keyrail/contract/vendor/secret-keys'
import type { Entry } from '../audit/append.ts'
import { credentialsTopic } from '../gate/hot-credentials.ts'
import { revokeInvitesMadeBy } from '../invites/revocation.ts'
import { cascadeMs, type Db } from '../platform/db/pool.ts'
import { endRights } from '../platform/db/right.ts'
import type { Tx } from '../platform/db/transaction.ts'
import { toSecretKey } from './resource.ts'
import { listRowsMadeBy, type MadeRow, type Maker, revokeSecretKeyRows, type SecretKeyRow } from './sql.ts'

export type { Maker }

/** What came of all that a maker has made. */
export interface MadeBy {
  /** With `revokesKeys` those that ended so, now or before, and else those that work still. Newest first. */
  keys: SecretKey[]
  /** What the log tells of it, for the caller to append behind the row of the maker. */
  entries: Entry[]
  revoked: RevokedWith
}

/** How many were revoked with their maker, as the maker's row of the log says; null where none was. */
export type RevokedWith = { secret_keys_revoked: number; invitations_revoked: number } | null

/** For a transaction that revokes all keys that somebody has made: with thousands of them, too, it must come to its end. */
export const withTimeForAll = (db: Db): Db => db.until(performance.now() + cascadeMs)

/** Secret keys made by the maker, or by a key that they made, all the way down, that work still. Newest first. */
export const listKeysMadeBy = async (tx: Tx, maker: Maker): Promise<SecretKey[]> =>
  toKeys((await listRowsMadeBy(tx, maker)).filter(row => row.is_active))

/**
 * Ends what somebody has made who is trusted no more: the invitations that are pending, made by them or by a key that they
 * made, all the way down, and with `revokesKeys` these keys too. In a transaction that `changesRights`, after the
 * maker's own right was ended with `endRights`: whatever they had under way is there to be found.
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

/** Why a key was revoked that was made by somebody, or by a key, that ended. */
const cascaded = 'cascade'

const keyRevoked = ({ id, env }: SecretKeyRow, ancestor: Maker): Entry => ({
  action: 'secret_key.revoked',
  targetType: 'secret_key',
  targetId: id,
  env,
  payload: { reason: cascaded, ancestor },
})

/**
 * Ends the rights of all keys that a maker has made, until there is none more. One that was made before its maker's right
 * ended is found by the next look; afterwards none can be made.
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

/** Postgres has some thousand locks for everybody. Of more keys the whole workspace waits: each holds its right too. */
const endedEachMax = 500

const idsOf = (rows: readonly { id: string }[]) => rows.map(({ id }) => id)
/** From oldest first to newest first. */
const toKeys = (rows: readonly SecretKeyRow[]) => rows.map(toSecretKey).reverse()
