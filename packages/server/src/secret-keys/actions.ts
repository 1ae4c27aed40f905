import type { LeakPlace } from '@keyrail/contract/leaks'
import type {
  RevokedSecretKey,
  SecretKey,
  SecretKeyCreate,
  SecretKeyList,
  SecretKeyRevoke,
} from '@keyrail/contract/vendor/secret-keys'
import { type Actor, actorOf, appendAudit, type Entry } from '../audit/append.ts'
import { credentialsTopic } from '../gate/hot-credentials.ts'
import { type Role, roles, sightOf, type VendorPrincipal } from '../gate/principal.ts'
import { overlapEnd } from '../keys/lifecycle.ts'
import { page } from '../platform/cursor.ts'
import type { Db } from '../platform/db/db.ts'
import { mutate, type Replayable, type ReplayKey } from '../platform/db/replay.ts'
import { endRights } from '../platform/db/right.ts'
import type { Tx } from '../platform/db/transaction.ts'
import type { Client } from '../platform/http/client.ts'
import { Refusal } from '../platform/refusal.ts'
import { dateOrNull, iso, millisOrNull } from '../platform/time.ts'
import { notifyOfOwnerKey } from '../security-events/owners.ts'
import { issueSecretKey, secretKeyCreated, withoutSecret } from './issue.ts'
import { areProjectsThere, assertNoMoreThan, readLimits } from './limits.ts'
import { endMadeBy, type MadeBy, type RevokedWith, withTimeForAll } from './made-by.ts'
import type { EndNeeds, SecretKeyNeeds } from './needs.ts'
import { toSecretKey } from './resource.ts'
import { assertRoomForSecretKey } from './room.ts'
import {
  endSecretKeyOverlap,
  findSecretKey,
  listSecretKeyRows,
  lockSecretKey,
  readRevokedSecretKey,
  revokeSecretKeyRow,
  type SecretKeyRow,
} from './sql.ts'

/** Creates a secret key with the role of its creator. Only this response contains the key itself. */
export function createSecretKey(
  deps: SecretKeyNeeds,
  db: Db,
  principal: VendorPrincipal,
  body: SecretKeyCreate,
  replay: ReplayKey | null,
  client: Client,
): Promise<Replayable> {
  const limits = readLimits(body)
  assertNoMoreThan(principal, limits)
  const work = async (tx: Tx) => {
    const [areThere] = await Promise.all([
      areProjectsThere(tx, limits.project_ids),
      assertRoomForSecretKey(deps, tx),
    ])
    if (!areThere) throw new Refusal('not_found')
    const at = deps.clock.now()
    const actor = actorOf(principal)
    const { created, shown } = issueSecretKey(deps, tx, actor, at, {
      ...limits,
      env: body.env,
      role: makerRole(principal.role),
      name: body.name ?? null,
      meta: body.meta ?? {},
      expires_at: dateOrNull(body.expires_at),
      rotated_from: null,
      created_in_session: principal.sessionId,
    })
    notifyOfOwnerKey(deps, tx, { caller: principal, client }, created)
    appendAudit(deps, tx, actor, at, [secretKeyCreated(created)])
    return shown
  }
  return mutate(db, principal.workspaceId, replay, work, withoutSecret)
}

/** The gate does not admit members here, so the creator is an owner or an admin. */
const makerRole = (role: Role) => (role === 'owner' ? 'owner' : 'admin')

export async function getSecretKey(db: Db, principal: VendorPrincipal, id: string): Promise<SecretKey> {
  const row = await db.readAtOnce(principal.workspaceId, tx => findSecretKey(tx, id, sightOf(principal)))
  if (row === null) throw new Refusal('not_found')
  return toSecretKey(row)
}

export async function listSecretKeys(
  { cursors }: SecretKeyNeeds,
  db: Db,
  principal: VendorPrincipal,
  query: SecretKeyList,
) {
  const { workspaceId } = principal
  const { limit } = query
  const before = query.cursor === undefined ? null : cursors.open('secret_keys', workspaceId, query.cursor)
  const { envs, projectIds } = sightOf(principal)
  const rows = await db.readAtOnce(workspaceId, tx =>
    listSecretKeyRows(tx, {
      envs: query.env === undefined ? envs : [query.env],
      projectIds,
      includeRevoked: query.include_revoked === 'true',
      before,
      limit,
    }),
  )
  return page(rows, limit, toSecretKey, last => cursors.seal('secret_keys', workspaceId, last.id))
}

/**
 * Issues a successor with the same role and settings; the old key keeps working for the overlap. The caller needs at
 * least the role and the limits of the key: otherwise an admin could rotate an owner's key and take over its role.
 */
export function rotateSecretKey(
  deps: SecretKeyNeeds,
  db: Db,
  principal: VendorPrincipal,
  id: string,
  overlapHours: number,
  replay: ReplayKey | null,
  client: Client,
): Promise<Replayable> {
  const work = async (tx: Tx) => {
    endRights(tx, [id])
    const row = await lockSecretKey(tx, id, sightOf(principal))
    if (row === null) throw new Refusal('not_found')
    if (roles.indexOf(principal.role) < roles.indexOf(row.role)) throw new Refusal('owner_required')
    assertNoMoreThan(principal, row)
    if (!row.is_active) {
      throw new Refusal('key_not_active', 'A revoked or expired secret key cannot be rotated.')
    }
    await assertRoomForSecretKey(deps, tx)
    const at = deps.clock.now()
    const actor = actorOf(principal)
    const endsAt = new Date(overlapEnd(millisOrNull(row.expires_at), row.now.getTime(), overlapHours))
    const { env, role, name, meta, permissions, project_ids, allowed_cidrs } = row
    const limits = { permissions, project_ids, allowed_cidrs }
    const expires_at = row.rotated_to === null ? row.expires_at : row.original_expires_at
    const { created, shown } = issueSecretKey(deps, tx, actor, at, {
      ...limits,
      env,
      role,
      name,
      meta,
      expires_at,
      rotated_from: row.id,
      created_in_session: principal.sessionId,
    })
    endSecretKeyOverlap(tx, row.id, endsAt, created.id, expires_at)
    tx.announce(credentialsTopic)
    const predecessor = { id: row.id, expires_at: iso(endsAt) }
    notifyOfOwnerKey(deps, tx, { caller: principal, client }, created)
    appendAudit(deps, tx, actor, at, [
      { ...target(row), action: 'secret_key.rotated', payload: { successor: created, predecessor } },
    ])
    return { ...shown, predecessor }
  }
  return mutate(db, principal.workspaceId, replay, work, withoutSecret, { changesRights: true })
}

/**
 * Revokes a secret key for good, with all pending invitations made by it or by keys descending from it; with `cascade`
 * those keys too. For a key that was already revoked, only its descendants end. An editor's role is enough for any key:
 * stopping a leak must not wait.
 */
export function revokeSecretKey(
  deps: SecretKeyNeeds,
  db: Db,
  principal: VendorPrincipal,
  id: string,
  { reason, cascade = false }: SecretKeyRevoke,
): Promise<RevokedSecretKey> {
  const work = async (tx: Tx) => {
    endRights(tx, [id])
    const found = await findSecretKey(tx, id, sightOf(principal))
    if (found === null) throw new Refusal('not_found')
    const { row, made } = await endWithMade(
      deps,
      tx,
      actorOf(principal),
      id,
      { reason: reason ?? null },
      cascade,
    )
    return { ...toSecretKey(row ?? found), descendants: made.keys }
  }
  const own = cascade ? withTimeForAll(db) : db
  return own.inWorkspace(principal.workspaceId, work, { changesRights: true })
}

/** What ended with a leaked secret key; `isRevoked` is false when the key itself was already revoked. */
export interface LeakedEnd {
  isRevoked: boolean
  revoked: RevokedWith
}

/**
 * Revokes a leaked secret key and everything made with it, since any of it may be an attacker's. Runs in a transaction
 * with `changesRights`.
 */
export async function revokeLeakedSecretKey(
  deps: EndNeeds,
  tx: Tx,
  actor: Actor,
  id: string,
  place: LeakPlace,
): Promise<LeakedEnd> {
  endRights(tx, [id])
  const { row, made } = await endWithMade(deps, tx, actor, id, { reason: 'leaked', ...place }, true)
  return { revoked: made.revoked, isRevoked: row !== null }
}

/** @returns `row`: null when the key was already revoked, which has an audit row. */
async function endWithMade(
  deps: EndNeeds,
  tx: Tx,
  actor: Actor,
  id: string,
  payload: { reason: string | null } & Partial<LeakPlace>,
  cascade: boolean,
): Promise<{ row: SecretKeyRow | null; made: MadeBy }> {
  const at = deps.clock.now()
  const made = await endMadeBy(tx, { type: 'secret_key', id }, { revokesKeys: cascade, at })
  const row = await revokeSecretKeyRow(tx, id, new Date(at), payload.reason)
  if (row === null) await readRevokedSecretKey(tx, id)
  else tx.announce(credentialsTopic)
  const own: Entry[] =
    row === null
      ? []
      : [{ ...target(row), action: 'secret_key.revoked', payload: { ...payload, ...made.revoked } }]
  const entries = [...own, ...made.entries]
  if (entries.length > 0) appendAudit(deps, tx, actor, at, entries)
  return { row, made }
}

const target = (key: Pick<SecretKeyRow, 'id' | 'env'>) => ({
  targetType: 'secret_key' as const,
  targetId: key.id,
  env: key.env,
})
