import type { LeakPlace } from '@keyrail/contract/leaks'
import type {
  ReadSecretKey,
  RevokedSecretKey,
  SecretKeyCreate,
  SecretKeyList,
  SecretKeyRevoke,
} from '@keyrail/contract/vendor/secret-keys'
import { type Actor, actorOf, appendAudit } from '../audit/append.ts'
import type { Caller } from '../gate/caller.ts'
import { credentialsTopic } from '../gate/hot-credentials.ts'
import { type Role, roles, sightOf, type VendorPrincipal } from '../gate/principal.ts'
import { overlapEnd } from '../lifecycle/overlap.ts'
import type { Db } from '../platform/db/db.ts'
import { mutate, type Replayable, type ReplayKey } from '../platform/db/replay.ts'
import { endRights } from '../platform/db/right.ts'
import type { Tx } from '../platform/db/transaction.ts'
import type { Client } from '../platform/http/client.ts'
import { page } from '../platform/paging/cursor.ts'
import { Refusal } from '../platform/refusal.ts'
import { dateOrNull, iso, millisOrNull } from '../platform/time.ts'
import { notifyOfOwnerKey } from '../security-events/owners.ts'
import { beginEnding, type EndNeeds, endMakers, hasMadeLeft } from './ending.ts'
import { readCascade } from './ending-sql.ts'
import { issueSecretKey, secretKeyCreated, withoutSecret } from './issue.ts'
import { areProjectsThere, assertNoMoreThan, readLimits } from './limits.ts'
import { nothingMade, showMade, toCascade } from './made.ts'
import type { SecretKeyNeeds } from './needs.ts'
import { assertSecretKeyQuota } from './quota.ts'
import { toSecretKey } from './resource.ts'
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
  { deps, db, principal }: Caller<SecretKeyNeeds>,
  body: SecretKeyCreate,
  replay: ReplayKey | null,
  client: Client,
): Promise<Replayable> {
  const limits = readLimits(body)
  assertNoMoreThan(principal, limits)
  const work = async (tx: Tx) => {
    if (!(await areProjectsThere(tx, limits.project_ids))) throw new Refusal('not_found')
    const place = { env: body.env, project_ids: limits.project_ids }
    const maker = { id: principal.id, passes: principal.role === 'owner' }
    await assertSecretKeyQuota(deps, tx, place, maker, 1)
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

export async function getSecretKey(db: Db, principal: VendorPrincipal, id: string): Promise<ReadSecretKey> {
  const [row, cascade] = await db.readAtOnce(principal.workspaceId, tx =>
    Promise.all([
      findSecretKey(tx, id, sightOf(principal)),
      readCascade(tx, { type: 'secret_key', id }, false),
    ]),
  )
  if (row === null) throw new Refusal('not_found')
  return { ...toSecretKey(row), ...(cascade !== null && { cascade: toCascade(cascade) }) }
}

export async function listSecretKeys(
  { deps: { cursors }, db, principal }: Caller<SecretKeyNeeds>,
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
      madeBy: query.made_by ?? null,
      before,
      limit,
    }),
  )
  return page(rows, limit, toSecretKey, last => cursors.seal('secret_keys', workspaceId, last.id))
}

/**
 * Issues a successor with the same role and settings; the old key keeps working for the overlap. The caller needs at least the
 * role and the limits of the key: otherwise an admin could rotate an owner's key and get the owner's role.
 */
export function rotateSecretKey(
  { deps, db, principal }: Caller<SecretKeyNeeds>,
  id: string,
  overlapHours: number,
  replay: ReplayKey | null,
  client: Client,
): Promise<Replayable> {
  const work = async (tx: Tx) => {
    const found = await findSecretKey(tx, id, sightOf(principal))
    if (found === null) throw new Refusal('not_found')
    if (roles.indexOf(principal.role) < roles.indexOf(found.role)) throw new Refusal('owner_required')
    assertNoMoreThan(principal, found)
    if (found.is_active) {
      const maker = { id: principal.id, passes: true }
      await assertSecretKeyQuota(deps, tx, found, maker, overlapHours > 0 ? 1 : 0)
    }
    const row = (await lockSecretKey(tx, id, sightOf(principal))) ?? found
    if (!row.is_active) {
      throw new Refusal('key_not_active', 'A revoked or expired secret key cannot be rotated.')
    }
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
  const options = { changesRights: true, first: (tx: Tx) => endRights(tx, [id]) }
  return mutate(db, principal.workspaceId, replay, work, withoutSecret, options)
}

/**
 * Revokes a secret key for good; then all pending invitations end that the key or keys descending from it made, and with
 * `cascade` those keys too. If the key was already revoked, only its descendants end. An editor's role is enough for any key,
 * because a leak must be stopped without delay.
 */
export async function revokeSecretKey(
  { deps, db, principal }: Caller<SecretKeyNeeds>,
  id: string,
  { reason, cascade = false }: SecretKeyRevoke,
): Promise<RevokedSecretKey> {
  const { workspaceId } = principal
  const maker = { type: 'secret_key', id } as const
  const work = async (tx: Tx) => {
    endMakers(tx, [id])
    if ((await findSecretKey(tx, id, sightOf(principal))) === null) throw new Refusal('not_found')
    const actor = actorOf(principal)
    const { row } = await revokeRow(deps, tx, actor, id, { reason: reason ?? null })
    const at = deps.clock.now()
    return { row, hasMade: await beginEnding(tx, maker, { revokesKeys: cascade, actor, at }) }
  }
  const { row, hasMade } = await db.inWorkspace(workspaceId, work, { changesRights: true })
  if (hasMade) await deps.endings.follow(workspaceId, maker)
  const { made, cascade: state } = hasMade
    ? await showMade({ deps, db, principal }, maker, cascade)
    : nothingMade
  return { ...toSecretKey(row), descendants: made, cascade: state }
}

/** What a report of a leaked secret key caused. */
export interface LeakedEnd {
  /** False when the key was already revoked. */
  isRevoked: boolean
  /** Whether anything that the key made ends too. The caller follows that ending. */
  endsMore: boolean
}

/**
 * Revokes a leaked secret key, and begins the end of everything that the key made, since an attacker may have made it. Runs in
 * a transaction with `changesRights`.
 */
export async function revokeLeakedSecretKey(
  deps: EndNeeds,
  tx: Tx,
  actor: Actor,
  id: string,
  place: LeakPlace,
): Promise<LeakedEnd> {
  const maker = { type: 'secret_key', id } as const
  endMakers(tx, [id])
  const { isNew: isRevoked } = await revokeRow(deps, tx, actor, id, { reason: 'leaked', ...place })
  // A repeated report of a key changes nothing if nothing is left to end.
  if (!isRevoked && !(await hasMadeLeft(tx, maker))) return { isRevoked, endsMore: false }
  const at = deps.clock.now()
  return { isRevoked, endsMore: await beginEnding(tx, maker, { revokesKeys: true, actor, at }) }
}

/** @returns the key as it is now. An earlier revocation stays, and its audit row stays the only one. */
async function revokeRow(
  deps: EndNeeds,
  tx: Tx,
  actor: Actor,
  id: string,
  payload: { reason: string | null } & Partial<LeakPlace>,
): Promise<{ row: SecretKeyRow; isNew: boolean }> {
  const at = deps.clock.now()
  const row = await revokeSecretKeyRow(tx, id, new Date(at), payload.reason)
  if (row === null) return { row: await readRevokedSecretKey(tx, id), isNew: false }
  tx.announce(credentialsTopic)
  appendAudit(deps, tx, actor, at, [{ ...target(row), action: 'secret_key.revoked', payload }])
  return { row, isNew: true }
}

const target = (key: Pick<SecretKeyRow, 'id' | 'env'>) => ({
  targetType: 'secret_key' as const,
  targetId: key.id,
  env: key.env,
})
