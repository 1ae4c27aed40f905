import type {
  RevokedSecretKey,
  SecretKey,
  SecretKeyCreate,
  SecretKeyRevoke,
} from '@keyrail/contract/vendor/secret-keys'
import type { LeakPlace } from '@keyrail/contract/webhook'
import { type Actor, actorOf, appendAudit, type Entry } from '../audit/append.ts'
import type { Deps } from '../deps.ts'
import { credentialsTopic } from '../gate/hot-credentials.ts'
import { type Role, roles, sightOf, type VendorPrincipal } from '../gate/principal.ts'
import { isActive, overlapEnd } from '../keys/lifecycle.ts'
import { page } from '../platform/cursor.ts'
import { mutate, type Replayable, type ReplayKey } from '../platform/db/replay.ts'
import { endRights } from '../platform/db/right.ts'
import type { Tx } from '../platform/db/transaction.ts'
import type { Client } from '../platform/http/client.ts'
import { Refusal } from '../platform/refusal.ts'
import { dateOrNull, iso, millisOrNull } from '../platform/time.ts'
import { tellOfOwnerKey } from '../security-events/owners.ts'
import { issueSecretKey, secretKeyCreated, withoutSecret } from './issue.ts'
import { areProjectsThere, assertNoMoreThan, readLimits } from './limits.ts'
import { endMadeBy, type MadeBy, type RevokedWith, withTimeForAll } from './made-by.ts'
import { toSecretKey } from './resource.ts'
import { assertRoomForSecretKey } from './room.ts'
import {
  endSecretKeyOverlap,
  findSecretKey,
  listSecretKeyRows,
  lockSecretKey,
  revokeSecretKeyRow,
  type SecretKeyRow,
} from './sql.ts'

/** Creates a secret key with the role of its maker. The answer is the only place where it is ever shown. */
export function createSecretKey(
  deps: Deps,
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
    tellOfOwnerKey(deps, tx, { caller: principal, client }, created)
    appendAudit(deps, tx, actor, at, [secretKeyCreated(created)])
    return shown
  }
  return mutate(deps.db, principal.workspaceId, replay, 201, work, withoutSecret)
}

/** The gate lets no member here, so that a key is an owner's or an admin's. */
const makerRole = (role: Role) => (role === 'owner' ? 'owner' : 'admin')

export async function getSecretKey({ db }: Deps, principal: VendorPrincipal, id: string): Promise<SecretKey> {
  const row = await db.inWorkspace(principal.workspaceId, tx => findSecretKey(tx, id, sightOf(principal)))
  if (row === null) throw new Refusal('not_found')
  return toSecretKey(row)
}

export interface ListQuery {
  env?: 'live' | 'test'
  include_revoked?: 'true' | 'false'
  limit?: number
  cursor?: string
}

export async function listSecretKeys({ db, cursors }: Deps, principal: VendorPrincipal, query: ListQuery) {
  const { workspaceId } = principal
  const { limit = 50 } = query
  const before = query.cursor === undefined ? null : cursors.open('secret_keys', workspaceId, query.cursor)
  const { envs, projectIds } = sightOf(principal)
  const rows = await db.inWorkspace(workspaceId, tx =>
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
 * Puts a successor beside a secret key, with its role and settings; the key lives on for the overlap.
 * Rotating takes at least the role of the key and what it may do, or an admin could make itself an owner.
 */
export function rotateSecretKey(
  deps: Deps,
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
    const life = { expiresAt: millisOrNull(row.expires_at), revokedAt: millisOrNull(row.revoked_at) }
    if (!isActive(life, row.now.getTime())) {
      throw new Refusal('key_not_active', 'A revoked or expired secret key cannot be rotated.')
    }
    await assertRoomForSecretKey(deps, tx)
    const at = deps.clock.now()
    const actor = actorOf(principal)
    const endsAt = new Date(overlapEnd(life, row.now.getTime(), overlapHours))
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
    tellOfOwnerKey(deps, tx, { caller: principal, client }, created)
    appendAudit(deps, tx, actor, at, [
      { ...target(row), action: 'secret_key.rotated', payload: { successor: created, predecessor } },
    ])
    return { ...shown, predecessor }
  }
  return mutate(deps.db, principal.workspaceId, replay, 200, work, withoutSecret, { changesRights: true })
}

/**
 * Ends a secret key for good, with the invitations that it or a key made by it has made, all the way down, and with
 * `cascade` these keys too. Where it was revoked before, it is what it has made that ends. It takes no role beyond an
 * editor's: stopping a leak must not wait.
 */
export function revokeSecretKey(
  deps: Deps,
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
  const db = cascade ? withTimeForAll(deps.db) : deps.db
  return db.inWorkspace(principal.workspaceId, work, { changesRights: true })
}

/** What ended with a secret key that others can read; `isRevoked` is false when the key itself had been revoked before. */
export interface LeakedEnd {
  isRevoked: boolean
  revoked: RevokedWith
}

/**
 * Ends a secret key that others can read, and all that was made with it: nobody knows by whom. In a transaction that
 * `changesRights`.
 */
export async function revokeLeakedSecretKey(
  deps: Deps,
  tx: Tx,
  actor: Actor,
  id: string,
  place: LeakPlace,
): Promise<LeakedEnd> {
  endRights(tx, [id])
  const { row, made } = await endWithMade(deps, tx, actor, id, { reason: 'leaked', ...place }, true)
  return { revoked: made.revoked, isRevoked: row !== null }
}

/** @returns `row`: null when the key had been revoked before, which its own row of the log tells. */
async function endWithMade(
  deps: Deps,
  tx: Tx,
  actor: Actor,
  id: string,
  payload: { reason: string | null } & Partial<LeakPlace>,
  cascade: boolean,
): Promise<{ row: SecretKeyRow | null; made: MadeBy }> {
  const at = deps.clock.now()
  const made = await endMadeBy(tx, { type: 'secret_key', id }, { revokesKeys: cascade, at })
  const row = await revokeSecretKeyRow(tx, id, new Date(at), payload.reason)
  if (row !== null) tx.announce(credentialsTopic)
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
