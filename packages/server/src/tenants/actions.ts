import type { Tenant, TenantCreate, TenantList, TenantUpdate } from '@keyrail/contract/vendor/tenants'
import { actorOf, appendAudit } from '../audit/append.ts'
import { changesOf } from '../audit/changes.ts'
import type { Deps } from '../deps.ts'
import type { VendorPrincipal } from '../gate/principal.ts'
import { countByEnv, revokeKeysOfParent } from '../keys/cascade.ts'
import { page } from '../platform/cursor.ts'
import { cascadeMs } from '../platform/db/pool.ts'
import { mutate, type Replayable, type ReplayKey } from '../platform/db/replay.ts'
import { endRights } from '../platform/db/right.ts'
import { Refusal } from '../platform/refusal.ts'
import { iso } from '../platform/time.ts'
import { noteTenantChange } from '../policy/changes.ts'
import {
  findTenant,
  findTenantsByExternalId,
  insertTenant,
  listTenantRows,
  lockTenant,
  markTenantDeleted,
  type TenantRow,
  updateTenantRow,
} from './sql.ts'

export function createTenant(
  deps: Deps,
  principal: VendorPrincipal,
  body: TenantCreate,
  replay: ReplayKey | null,
): Promise<Replayable> {
  return mutate(
    deps.db,
    principal.workspaceId,
    replay,
    201,
    async tx => {
      const at = deps.clock.now()
      const row: TenantRow = {
        id: deps.makeId(),
        external_id: body.external_id,
        name: body.name ?? null,
        meta: body.meta ?? {},
        embed_epoch: 1,
        created_at: new Date(at),
        updated_at: new Date(at),
      }
      insertTenant(tx, row)
      const tenant = toTenant(row)
      appendAudit(deps, tx, actorOf(principal), at, [
        { ...target(row.id), action: 'tenant.created', payload: { ...tenant } },
      ])
      return tenant
    },
    tenant => tenant,
  )
}

export async function getTenant({ db }: Deps, principal: VendorPrincipal, id: string): Promise<Tenant> {
  const row = await db.inWorkspace(principal.workspaceId, tx => findTenant(tx, id))
  if (row === null) throw new Refusal('not_found')
  return toTenant(row)
}

export async function listTenants(
  { db, cursors }: Deps,
  { workspaceId }: VendorPrincipal,
  { external_id, limit = 50, cursor }: TenantList,
) {
  const before = cursor === undefined ? null : cursors.open('tenants', workspaceId, cursor)
  const rows = await db.inWorkspace(workspaceId, async tx =>
    external_id === undefined
      ? await listTenantRows(tx, before, limit)
      : (await findTenantsByExternalId(tx, external_id)).filter(({ id }) => before === null || id < before),
  )
  return page(rows, limit, toTenant, last => cursors.seal('tenants', workspaceId, last.id))
}

/** Replaces the fields that the body names. Nodes that show whose key it is hear of it. */
export function updateTenant(deps: Deps, principal: VendorPrincipal, id: string, body: TenantUpdate) {
  return deps.db.inWorkspace(principal.workspaceId, async tx => {
    const row = await lockTenant(tx, id)
    if (row === null) throw new Refusal('not_found')
    const at = deps.clock.now()
    const next: TenantRow = {
      ...row,
      ...(body.name !== undefined && { name: body.name }),
      ...(body.meta !== undefined && { meta: body.meta }),
      updated_at: new Date(at),
    }
    const changes = changesOf(toTenant(row), toTenant(next))
    if (Object.keys(changes).length === 0) return toTenant(row)
    updateTenantRow(tx, next)
    await noteTenantChange(tx, id)
    appendAudit(deps, tx, actorOf(principal), at, [
      { ...target(id), action: 'tenant.updated', payload: changes },
    ])
    return toTenant(next)
  })
}

/** Raises the tenant's epoch: every embed token that is out for it fails on its next request. */
export function revokeEmbedTokens(deps: Deps, principal: VendorPrincipal, id: string) {
  return deps.db.inWorkspace(principal.workspaceId, async tx => {
    endRights(tx, [id])
    const row = await lockTenant(tx, id)
    if (row === null) throw new Refusal('not_found')
    const at = deps.clock.now()
    updateTenantRow(tx, { ...row, embed_epoch: row.embed_epoch + 1, updated_at: new Date(at) })
    appendAudit(deps, tx, actorOf(principal), at, [
      { ...target(id), action: 'tenant.embed_tokens_revoked', payload: { epoch: row.embed_epoch + 1 } },
    ])
    return { object: 'embed_tokens_revocation', tenant_id: id, revoked_at: iso(new Date(at)) }
  })
}

/** Deletes a tenant and revokes every key it holds, in one transaction. */
export function deleteTenant(deps: Deps, principal: VendorPrincipal, id: string) {
  return deps.db.inWorkspace(
    principal.workspaceId,
    async tx => {
      endRights(tx, [id])
      if ((await lockTenant(tx, id)) === null) throw new Refusal('not_found')
      const at = deps.clock.now()
      const revoked = await revokeKeysOfParent(tx, 'tenant', id, at)
      markTenantDeleted(tx, id, new Date(at))
      appendAudit(deps, tx, actorOf(principal), at, [
        { ...target(id), action: 'tenant.deleted', payload: { keys_revoked: countByEnv(revoked) } },
        ...revoked,
      ])
      return { object: 'tenant', id, deleted: true }
    },
    { longWorkMs: cascadeMs },
  )
}

const target = (id: string) => ({ targetType: 'tenant' as const, targetId: id, env: null })

const toTenant = (row: TenantRow): Tenant => ({
  object: 'tenant',
  id: row.id,
  external_id: row.external_id,
  name: row.name,
  meta: row.meta,
  updated_at: iso(row.updated_at),
  created_at: iso(row.created_at),
})
