import type { Paging } from '@keyrail/contract/shared'
import type { Tenant, TenantCreate, TenantList, TenantUpdate } from '@keyrail/contract/vendor/tenants'
import { actorOf, appendAudit } from '../audit/append.ts'
import type { Caller } from '../gate/caller.ts'
import type { CommonNeeds } from '../gate/common-needs.ts'
import type { VendorPrincipal } from '../gate/principal.ts'
import { countByEnv, revokeKeysOfParent } from '../keys/cascade.ts'
import { assertUnprotected } from '../lifecycle/protection.ts'
import { cascadeMs, type Db } from '../platform/db/db.ts'
import { mutate, type Replayable, type ReplayKey } from '../platform/db/replay.ts'
import { endRights } from '../platform/db/right.ts'
import { page } from '../platform/paging/cursor.ts'
import { listedOne } from '../platform/paging/listed.ts'
import { isFoundBy, readSearch, type Search } from '../platform/paging/prefix.ts'
import { type Part, partOfOne, readParts, writePosition } from '../platform/paging/walks.ts'
import { Refusal } from '../platform/refusal.ts'
import { iso } from '../platform/time.ts'
import { tenantCreated, toNewTenant } from './meet.ts'
import { toTarget, toTenant } from './resource.ts'
import {
  type FoundTenantRow,
  findTenant,
  findTenantsByExternalId,
  insertTenant,
  listTenantRows,
  listTenantRowsByIds,
  lockTenant,
  markTenantDeleted,
  searchTenantRows,
  type TenantRow,
  type tenantSearches,
  updateTenantRow,
} from './sql.ts'
import { changeTenant } from './update.ts'

export function createTenant(
  { deps, db, principal }: Caller<CommonNeeds>,
  body: TenantCreate,
  replay: ReplayKey | null,
): Promise<Replayable> {
  return mutate(
    db,
    principal.workspaceId,
    replay,
    async tx => {
      const at = deps.clock.now()
      const row = toNewTenant(deps.makeId(), at, body)
      insertTenant(tx, row)
      appendAudit(deps, tx, actorOf(principal), at, [tenantCreated(row)])
      return toTenant(row)
    },
    tenant => tenant,
  )
}

export async function getTenant(db: Db, principal: VendorPrincipal, id: string): Promise<Tenant> {
  const row = await db.readAtOnce(principal.workspaceId, tx => findTenant(tx, id))
  if (row === null) throw new Refusal('not_found')
  return toTenant(row)
}

export async function listTenants({ deps, db, principal }: Caller<CommonNeeds>, query: TenantList) {
  const { external_id, ids, q, limit, cursor } = query
  const search = q === undefined ? null : readSearch(q)
  if (search !== null && external_id === undefined) {
    return await searchTenants({ deps, db, principal }, search, query)
  }
  const { workspaceId } = principal
  const before = cursor === undefined ? null : deps.cursors.open('tenants', workspaceId, cursor)
  const listed = await db.readAtOnce(workspaceId, async tx => {
    if (external_id !== undefined) {
      const found = (await findTenantsByExternalId(tx, external_id)).filter(
        row =>
          (before === null || row.id < before) &&
          (ids === undefined || ids.some(id => id.toLowerCase() === row.id)) &&
          (search === null || isFoundBy(search, { ...row, other: row.external_id })),
      )
      return listedOne(found)
    }
    return await (ids === undefined
      ? listTenantRows(tx, before, limit)
      : listTenantRowsByIds(tx, ids, before, limit))
  })
  return page(listed, limit, toTenant, last => deps.cursors.seal('tenants', workspaceId, last.id))
}

/** The tenant with this id, then those with such a name, such an external id, or such a further word, each sorted by it. */
async function searchTenants(
  { deps: { cursors }, db, principal: { workspaceId } }: Caller<CommonNeeds>,
  { id, range }: Search,
  { limit, cursor }: Paging,
) {
  const list = `tenants ${range.first}`
  const after = cursor === undefined ? null : cursors.open(list, workspaceId, cursor)
  const found = await db.inWorkspace(workspaceId, tx => {
    const by = (
      field: keyof typeof tenantSearches,
      placeOf: (row: FoundTenantRow) => string,
    ): Part<FoundTenantRow> => ({
      order: 'rising',
      placeOf,
      walks: [(after, bounds) => searchTenantRows(tx, field, range, id, after, bounds)],
    })
    return readParts<TenantRow>(
      [
        ...(id === null ? [] : [partOfOne(() => findTenant(tx, id))]),
        by('name', row => row.name_folded ?? ''),
        by('external_id', row => row.external_id_folded),
        by('word', row => row.word ?? ''),
      ],
      after,
      limit,
    )
  })
  return page(
    found,
    limit,
    ({ row }) => toTenant(row),
    ({ position }) => cursors.seal(list, workspaceId, writePosition(position)),
  )
}

export function updateTenant({ deps, db, principal }: Caller<CommonNeeds>, id: string, body: TenantUpdate) {
  return db.inWorkspace(principal.workspaceId, async tx =>
    toTenant(await changeTenant(deps, tx, actorOf(principal), id, body)),
  )
}

/** Raises the tenant's epoch: every embed token issued so far fails on its next request. */
export function revokeEmbedTokens({ deps, db, principal }: Caller<CommonNeeds>, id: string) {
  return db.inWorkspace(principal.workspaceId, async tx => {
    endRights(tx, [id])
    const row = await lockTenant(tx, id)
    if (row === null) throw new Refusal('not_found')
    const at = deps.clock.now()
    updateTenantRow(tx, { ...row, embed_epoch: row.embed_epoch + 1, updated_at: new Date(at) })
    appendAudit(deps, tx, actorOf(principal), at, [
      { ...toTarget(id), action: 'tenant.embed_tokens_revoked', payload: { epoch: row.embed_epoch + 1 } },
    ])
    return { object: 'embed_tokens_revocation', tenant_id: id, revoked_at: iso(new Date(at)) }
  })
}

/** Deletes a tenant and revokes all of its keys, in one transaction. */
export function deleteTenant({ deps, db, principal }: Caller<CommonNeeds>, id: string) {
  return db.inWorkspace(
    principal.workspaceId,
    async tx => {
      endRights(tx, [id])
      const locked = await lockTenant(tx, id)
      if (locked === null) throw new Refusal('not_found')
      assertUnprotected(locked)
      const at = deps.clock.now()
      const revoked = await revokeKeysOfParent(tx, 'tenant', id, at)
      markTenantDeleted(tx, id, new Date(at))
      appendAudit(deps, tx, actorOf(principal), at, [
        { ...toTarget(id), action: 'tenant.deleted', payload: { keys_revoked: countByEnv(revoked) } },
        ...revoked,
      ])
      return { object: 'tenant', id, deleted: true }
    },
    { longWorkMs: cascadeMs },
  )
}
