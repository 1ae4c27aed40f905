import type { LeakPlace } from '@keyrail/contract/leaks'
import type { Key, KeyList, KeyUpdate } from '@keyrail/contract/vendor/keys'
import { type Actor, actorOf, appendAudit } from '../audit/append.ts'
import { changesOf } from '../audit/changes.ts'
import type { Caller } from '../gate/caller.ts'
import { sightOf, type VendorPrincipal } from '../gate/principal.ts'
import { outlives } from '../lifecycle/overlap.ts'
import type { Db } from '../platform/db/db.ts'
import type { ReadTx, Tx } from '../platform/db/transaction.ts'
import { readNetworks } from '../platform/network/read-networks.ts'
import { page } from '../platform/paging/cursor.ts'
import { listedOne } from '../platform/paging/listed.ts'
import { invalidField, Refusal } from '../platform/refusal.ts'
import { dateOrNull, millisOrNull } from '../platform/time.ts'
import { lockPolicyHeads, notePolicyChange, policyVersionOf } from '../policy/changes.ts'
import { awaitFleet } from '../policy/propagation.ts'
import { readRevokedKey, revokeKeyRow } from './end-sql.ts'
import { findTenantId } from './find-tenant.ts'
import { assertKnownScopes } from './known-scopes.ts'
import { assertEndWithin } from './lifetime.ts'
import type { IssueNeeds, KeyNeeds, RevokeNeeds } from './needs.ts'
import { findKeyProject } from './project-sql.ts'
import { assertQuotaToRevive } from './quota.ts'
import { toKey, toTarget } from './resource.ts'
import type { JudgedKeyRow, KeyRow } from './rows.ts'
import { searchKeysPage } from './search.ts'
import { findKey, listKeys, lockKey, updateKey } from './sql.ts'

export async function getKey(db: Db, principal: VendorPrincipal, id: string): Promise<Key> {
  const row = await db.readAtOnce(principal.workspaceId, tx => findKey(tx, id, sightOf(principal)))
  if (row === null) throw new Refusal('not_found')
  return toKey(row)
}

export async function listKeysPage({ deps, db, principal }: Caller<KeyNeeds>, query: KeyList) {
  if (
    query.q !== undefined ||
    query.status !== undefined ||
    query.hygiene !== undefined ||
    query.days !== undefined
  ) {
    return await searchKeysPage({ deps, db, principal }, query)
  }
  const { cursors } = deps
  const { workspaceId } = principal
  const { limit } = query
  const before = query.cursor === undefined ? null : cursors.open('keys', workspaceId, query.cursor)
  const { envs, projectIds } = sightOf(principal)
  const list = (tx: ReadTx, tenantId = query.tenant_id) =>
    listKeys(tx, {
      envs: query.env === undefined ? envs : [query.env],
      projectIds,
      projectId: query.project_id ?? null,
      tenantId: tenantId ?? null,
      name: query.name ?? null,
      includeRevoked: query.include_revoked === 'true',
      before,
      limit,
    })
  const { external_id } = query
  const rows =
    external_id === undefined
      ? await db.readAtOnce(workspaceId, tx => list(tx))
      : await db.inWorkspace(workspaceId, async tx => {
          const tenantId = await findTenantId(tx, external_id)
          // An unknown tenant gets the same empty page.
          return tenantId === null ? listedOne<KeyRow>([]) : await list(tx, tenantId)
        })
  return page(rows, limit, toKey, last => cursors.seal('keys', workspaceId, last.id))
}

export function updateKeyFields(
  { deps, db, principal }: Caller<KeyNeeds>,
  id: string,
  body: KeyUpdate,
): Promise<Key> {
  return db.inWorkspace(principal.workspaceId, async tx => {
    const found = await findKey(tx, id, sightOf(principal))
    if (found === null) throw new Refusal('not_found')
    return await updateFound(deps, tx, { actor: actorOf(principal), mayExtend: true }, found, body)
  })
}

/** Who changes a key, and whether its expiry may become later than it is. */
export interface KeyEditor {
  readonly actor: Actor
  readonly mayExtend: boolean
}

/** Replaces the fields that the body names. Nodes receive every change, because they enforce some fields and show others. */
export async function updateFound(
  deps: Pick<IssueNeeds, 'clock' | 'config' | 'randomBytes'>,
  tx: Tx,
  { actor, mayExtend }: KeyEditor,
  found: JudgedKeyRow,
  body: KeyUpdate,
): Promise<Key> {
  const mayRevive = mayExtend && body.expires_at !== undefined
  const assertMayLive = mayRevive ? await assertQuotaToRevive(deps, tx, found) : null
  const [living, locked, project] = await Promise.all([
    lockPolicyHeads(tx, [found.project_id]),
    lockKey(tx, found.id),
    body.scopes === undefined && body.expires_at === undefined ? null : findKeyProject(tx, found.project_id),
  ])
  const row = locked ?? found
  if (project !== null && body.scopes !== undefined) assertKnownScopes(project, body.scopes, row.scopes)
  if (row.revoked_at !== null) throw new Refusal('key_not_active', 'A revoked key cannot be changed.')
  if (living.length === 0)
    throw new Refusal('key_not_active', 'A key of a deleted project cannot be changed.')

  const at = deps.clock.now()
  const { now: _now, is_active: _isActive, ...stored } = row
  const next: KeyRow = {
    ...stored,
    ...(body.name !== undefined && { name: body.name }),
    ...(body.scopes !== undefined && { scopes: body.scopes }),
    ...(body.meta !== undefined && { meta: body.meta }),
    ...(body.rate_limits !== undefined && { rate_limits: body.rate_limits }),
    ...(body.allowed_cidrs !== undefined && {
      allowed_cidrs: body.allowed_cidrs && readNetworks(body.allowed_cidrs),
    }),
    ...(body.expires_at !== undefined && { expires_at: dateOrNull(body.expires_at) }),
    updated_at: new Date(at),
  }
  if (body.expires_at !== undefined) assertMayEnd(next.expires_at, row, mayExtend)
  if (body.expires_at !== undefined && project !== null) assertEndWithin(project, row, next.expires_at)
  assertMayLive?.(row, next.expires_at)
  const changes = changesOf(toKey(stored), toKey(next))
  if (Object.keys(changes).length === 0) return toKey(stored)
  updateKey(tx, next)
  notePolicyChange(tx, next.project_id, [next.id])
  appendAudit(deps, tx, actor, at, [{ ...toTarget(next), action: 'api_key.updated', payload: changes }])
  return toKey(next)
}

/** @throws {Refusal} naming `expires_at`, for a key as locked. */
function assertMayEnd(expiresAt: Date | null, locked: KeyRow, mayExtend: boolean): void {
  const end = millisOrNull(expiresAt)
  if (outlives(end, millisOrNull(locked.overlap_ends_at)))
    throw invalidField('expires_at', 'must not be later than the end of the rotation overlap')
  if (!mayExtend && outlives(end, millisOrNull(locked.expires_at)))
    throw invalidField('expires_at', 'must not be later than it is now')
}

/**
 * Revokes a key for good. Repeating the call changes nothing and writes no second audit row.
 * @param wait the signal that fires when the client disconnects: after the commit, wait until the nodes have the
 * change. null does not wait.
 */
export async function revokeKey(
  { deps, db, principal }: Caller<KeyNeeds>,
  id: string,
  reason: string | null,
  wait: AbortSignal | null,
) {
  return await settle({ deps, db, principal }, id, wait, (tx, found) =>
    revokeFound(deps, tx, actorOf(principal), found, reason),
  )
}

/**
 * Changes whether nodes accept a key.
 * @param wait as for `revokeKey`.
 */
export async function settle(
  { deps, db, principal }: Caller<KeyNeeds>,
  id: string,
  wait: AbortSignal | null,
  change: (tx: Tx, found: JudgedKeyRow) => Promise<KeyRow>,
) {
  const { workspaceId } = principal
  const { row, version } = await db.inWorkspace(workspaceId, async tx => {
    const found = await findKey(tx, id, sightOf(principal))
    if (found === null) throw new Refusal('not_found')
    const row = await change(tx, found)
    return { row, version: wait === null ? null : await policyVersionOf(tx, found.project_id, id) }
  })
  if (wait === null || version === null) return toKey(row)
  const question = { workspaceId, projectId: row.project_id, env: row.env, ...version }
  const propagation = await awaitFleet(deps, question, wait)
  return { ...toKey(row), propagation }
}

/** @returns the key as it is now. An earlier revocation stands, and its audit row stays the only one. */
export async function revokeFound(
  deps: RevokeNeeds,
  tx: Tx,
  actor: Actor,
  found: KeyRow,
  reason: string | null,
): Promise<KeyRow> {
  if (found.revoked_at !== null) return found
  const revoked = await revokeOnce(deps, tx, actor, found.id, found.project_id, { reason })
  return revoked ?? (await readRevokedKey(tx, found.id))
}

/**
 * Revokes a leaked key, whatever its environment, in one flight before the flight of the commit.
 * @param key its project cannot change; null: the project does not exist.
 * @returns false when the key was already revoked.
 */
export async function revokeLeakedKey(
  deps: RevokeNeeds,
  tx: Tx,
  actor: Actor,
  { id, projectId }: { readonly id: string; readonly projectId: string | null },
  place: LeakPlace,
): Promise<boolean> {
  if (projectId === null) return false
  const revoked = await revokeOnce(deps, tx, actor, id, projectId, { reason: 'leaked', ...place })
  if (revoked === null) await readRevokedKey(tx, id)
  return revoked !== null
}

/** @returns null when a concurrent call revoked the key first; that call writes the only audit row. */
async function revokeOnce(
  deps: RevokeNeeds,
  tx: Tx,
  actor: Actor,
  id: string,
  projectId: string,
  payload: { reason: string | null } & Partial<LeakPlace>,
): Promise<KeyRow | null> {
  const at = deps.clock.now()
  const [living, row] = await Promise.all([
    lockPolicyHeads(tx, [projectId]),
    revokeKeyRow(tx, id, new Date(at), payload.reason),
  ])
  if (row === null) return null
  if (living.length > 0) notePolicyChange(tx, row.project_id, [row.id])
  appendAudit(deps, tx, actor, at, [{ ...toTarget(row), action: 'api_key.revoked', payload }])
  return row
}
