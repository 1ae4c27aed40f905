import type { Key, KeyList, KeyUpdate } from '@keyrail/contract/vendor/keys'
import type { LeakPlace } from '@keyrail/contract/webhook'
import { type Actor, actorOf, appendAudit } from '../audit/append.ts'
import { changesOf } from '../audit/changes.ts'
import type { Deps } from '../deps.ts'
import { sightOf, type VendorPrincipal } from '../gate/principal.ts'
import { page } from '../platform/cursor.ts'
import type { Tx } from '../platform/db/transaction.ts'
import { invalidField, Refusal } from '../platform/refusal.ts'
import { dateOrNull, millisOrNull } from '../platform/time.ts'
import { lockPolicyHeads, notePolicyChange, policyVersionOf } from '../policy/changes.ts'
import { awaitFleet } from '../policy/propagation.ts'
import { outlivesOverlap } from './lifecycle.ts'
import { toKey, toTarget } from './resource.ts'
import type { KeyRow } from './rows.ts'
import { findKey, findTenantId, listKeys, lockKey, revokeKeyRow, updateKey } from './sql.ts'

export async function getKey({ db }: Deps, principal: VendorPrincipal, id: string): Promise<Key> {
  const row = await db.inWorkspace(principal.workspaceId, tx => findKey(tx, id, sightOf(principal)))
  if (row === null) throw new Refusal('not_found')
  return toKey(row)
}

export async function listKeysPage({ db, cursors }: Deps, principal: VendorPrincipal, query: KeyList) {
  const { workspaceId } = principal
  const { limit = 50 } = query
  const before = query.cursor === undefined ? null : cursors.open('keys', workspaceId, query.cursor)
  const { envs, projectIds } = sightOf(principal)
  const rows = await db.inWorkspace(workspaceId, async tx => {
    const { external_id } = query
    const tenantId = external_id === undefined ? query.tenant_id : await findTenantId(tx, external_id)
    // As an id that nobody has.
    if (tenantId === null) return []
    return await listKeys(tx, {
      envs: query.env === undefined ? envs : [query.env],
      projectIds,
      projectId: query.project_id ?? null,
      tenantId: tenantId ?? null,
      name: query.name ?? null,
      includeRevoked: query.include_revoked === 'true',
      before,
      limit,
    })
  })
  return page(rows, limit, toKey, last => cursors.seal('keys', workspaceId, last.id))
}

/** Replaces the fields that the body names. Nodes hear of all of them: some enforce, some show whose key it is. */
export function updateKeyFields(
  deps: Deps,
  principal: VendorPrincipal,
  id: string,
  body: KeyUpdate,
): Promise<Key> {
  return deps.db.inWorkspace(principal.workspaceId, async tx => {
    const found = await findKey(tx, id, sightOf(principal))
    if (found === null) throw new Refusal('not_found')
    const [, locked] = await Promise.all([lockPolicyHeads(tx, [found.project_id]), lockKey(tx, id)])
    const row = locked ?? found
    if (row.revoked_at !== null) throw new Refusal('key_not_active', 'A revoked key cannot be changed.')

    const at = deps.clock.now()
    const { now: _, ...stored } = row
    const next: KeyRow = {
      ...stored,
      ...(body.name !== undefined && { name: body.name }),
      ...(body.scopes !== undefined && { scopes: body.scopes }),
      ...(body.meta !== undefined && { meta: body.meta }),
      ...(body.rate_limits !== undefined && { rate_limits: body.rate_limits }),
      ...(body.expires_at !== undefined && { expires_at: dateOrNull(body.expires_at) }),
      updated_at: new Date(at),
    }
    if (
      body.expires_at !== undefined &&
      outlivesOverlap(millisOrNull(next.expires_at), millisOrNull(row.overlap_ends_at))
    ) {
      throw invalidField('expires_at', 'must not lie beyond the overlap of the rotation')
    }
    const changes = changesOf(toKey(stored), toKey(next))
    if (Object.keys(changes).length === 0) return toKey(stored)
    updateKey(tx, next)
    notePolicyChange(tx, next.project_id, [id])
    appendAudit(deps, tx, actorOf(principal), at, [
      { ...toTarget(next), action: 'api_key.updated', payload: changes },
    ])
    return toKey(next)
  })
}

/**
 * Ends a key for good. Repeating it changes nothing and leaves no second audit row.
 * @param wait null, or the signal that the caller has hung up: then the fleet is waited for, behind the commit.
 */
export async function revokeKey(
  deps: Deps,
  principal: VendorPrincipal,
  id: string,
  reason: string | null,
  wait: AbortSignal | null,
) {
  const { workspaceId } = principal
  const { row, change } = await deps.db.inWorkspace(workspaceId, async tx => {
    const found = await findKey(tx, id, sightOf(principal))
    if (found === null) throw new Refusal('not_found')
    const row = await revokeFound(deps, tx, actorOf(principal), found, reason)
    return { row, change: wait === null ? null : await policyVersionOf(tx, found.project_id, id) }
  })
  if (wait === null || change === null) return toKey(row)
  const question = { workspaceId, projectId: row.project_id, env: row.env, ...change }
  const propagation = await awaitFleet(deps, question, AbortSignal.any([wait, deps.closing]))
  return { ...toKey(row), propagation }
}

/** @returns the key as it is now: the revocation is the first one's, and so is the audit row. */
export async function revokeFound(
  deps: Deps,
  tx: Tx,
  actor: Actor,
  found: KeyRow,
  reason: string | null,
): Promise<KeyRow> {
  if (found.revoked_at !== null) return found
  return (await revokeOnce(deps, tx, actor, found, { reason })) ?? (await lockKey(tx, found.id)) ?? found
}

/** Ends a key that others can read, of whichever environment. @returns false when it was revoked already. */
export async function revokeLeakedKey(
  deps: Deps,
  tx: Tx,
  actor: Actor,
  id: string,
  place: LeakPlace,
): Promise<boolean> {
  const found = await findKey(tx, id, { envs: ['live', 'test'], projectIds: null })
  if (found === null || found.revoked_at !== null) return false
  return (await revokeOnce(deps, tx, actor, found, { reason: 'leaked', ...place })) !== null
}

/** @returns null when somebody was faster: theirs is the revocation, and the only audit row. */
async function revokeOnce(
  deps: Deps,
  tx: Tx,
  actor: Actor,
  found: KeyRow,
  payload: { reason: string | null } & Partial<LeakPlace>,
): Promise<KeyRow | null> {
  await lockPolicyHeads(tx, [found.project_id])
  const at = deps.clock.now()
  const row = await revokeKeyRow(tx, found.id, new Date(at), payload.reason)
  if (row === null) return null
  notePolicyChange(tx, row.project_id, [row.id])
  appendAudit(deps, tx, actor, at, [{ ...toTarget(row), action: 'api_key.revoked', payload }])
  return row
}
