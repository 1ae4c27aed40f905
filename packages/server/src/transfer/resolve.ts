import type { FieldFault } from '@keyrail/contract/errors'
import { importRowsMax } from '@keyrail/contract/vendor/imports'
import { type Actor, appendAudit } from '../audit/append.ts'
import { endedMax } from '../lifecycle/ended.ts'
import type { Tx } from '../platform/db/transaction.ts'
import { tenantCreated, toNewTenant } from '../tenants/meet.ts'
import {
  countKeysOf,
  type FoundTenant,
  findKeysByDigest,
  findTaken,
  findTenants,
  holdTenants,
  type ImportProject,
  type KeyCounts,
  lockTenantCaps,
  makeTenants,
} from './import-sql.ts'
import type { ImportNeeds } from './needs.ts'
import type { Standing } from './plan.ts'
import type { ReadRow } from './read-row.ts'

/** Near the cap, calls check one at a time, as for one key. */
const quotaMargin = 500
/** A call that adds more keys to one tenant always does: many such calls at once would exceed the margin. */
const unlockedMax = 10
/** Counted beyond the cap of ended keys, so that there is space for all keys of a call. */
const endedMargin = 500

export interface Order {
  readonly project: ImportProject
  readonly env: Standing['place']['env']
  readonly isDry: boolean
  readonly createsTenants: boolean
  readonly actor: Actor
  readonly now: number
}
export type Found = Standing & { readonly counts: readonly KeyCounts[] }

/**
 * Finds what the store has of the rows. Unless the call is dry, makes the tenants that are missing, holds all of them, and takes the
 * locks of the caps that are near.
 */
export async function resolveRows(
  deps: ImportNeeds,
  tx: Tx,
  order: Order,
  reads: readonly ReadRow[],
): Promise<Found> {
  const digests = reads.map(({ digest }) => digest)
  const named = (by: ReadRow['by']) => [
    ...new Set(reads.filter(read => read.by === by).map(({ tenant }) => tenant)),
  ]
  const [tenants, keys, taken] = await Promise.all([
    findTenants(tx, named('tenant_id'), named('external_id')),
    findKeysByDigest(tx, digests),
    findTaken(tx, digests),
  ])
  const seen = new Set([...keys.map(({ digest }) => digest.toString('hex')), ...taken])
  const isFree = ({ digest }: ReadRow) => !seen.has(digest.toString('hex'))
  const first = new Map(reads.toReversed().map(read => [read.digest.toString('hex'), read]))
  /** A later row with the same digest makes no key, and no tenant. */
  const becomesKey = (read: ReadRow) => isFree(read) && first.get(read.digest.toString('hex')) === read
  const known = order.isDry
    ? tenants
    : await completeTenants(deps, tx, order, reads.filter(becomesKey), tenants)
  const living = known.filter(tenant => !tenant.is_deleted)
  const place = { project_id: order.project.id, env: order.env }
  // Of rows with one digest the first may be invalid, so each of them may become the key.
  const added = countAdded(reads.filter(isFree), living)
  const counts = await countAll(deps, tx, order, place, added)
  // A call that held the caps before may have made the same keys: these count no more.
  const now = order.isDry ? keys : await findKeysByDigest(tx, digests)
  return {
    place,
    own: new Map(now.map(key => [key.digest.toString('hex'), key])),
    taken,
    counts,
    tenantOf: tenantsOf(living, order, isFree),
    isUnmade: tenant => !order.isDry && tenant.startsWith(unmade),
    active: new Map(counts.map(({ tenant_id, active }) => [tenant_id, active])),
    suspended: new Set(living.filter(one => one.is_suspended).map(({ id }) => id)),
    activeMax: deps.config.maxActiveKeysPerTenant,
    now: order.now,
  }
}

/**
 * The tenants, held; with those that are made for a row.
 * @param free the rows that can become a key: a tenant is made for no other.
 */
async function completeTenants(
  deps: ImportNeeds,
  tx: Tx,
  order: Order,
  free: readonly ReadRow[],
  tenants: readonly FoundTenant[],
): Promise<readonly FoundTenant[]> {
  const there = new Set(tenants.filter(one => !one.is_deleted).map(one => one.external_id))
  const missing = order.createsTenants
    ? free.filter(read => read.by === 'external_id' && !there.has(read.tenant))
    : []
  const made = await makeMissing(deps, tx, order, [...new Set(missing.map(({ tenant }) => tenant))])
  const ids = [...tenants, ...made].map(({ id }) => id)
  return ids.length === 0 ? [] : await holdTenants(tx, ids)
}

async function makeMissing(
  deps: ImportNeeds,
  tx: Tx,
  { actor, now }: Order,
  externalIds: readonly string[],
): Promise<readonly { id: string }[]> {
  if (externalIds.length === 0) return []
  const rows = externalIds.map(external_id => toNewTenant(deps.makeId(), now, { external_id }))
  const ids = await makeTenants(tx, rows, new Date(now))
  const made = rows.filter(({ id }) => ids.has(id))
  if (made.length > 0) appendAudit(deps, tx, actor, now, made.map(tenantCreated))
  if (made.length === rows.length) return made
  // Others have made these meanwhile.
  const others = rows.filter(({ id }) => !ids.has(id)).map(row => row.external_id)
  return [...made, ...(await findTenants(tx, [], others))]
}

const noTenant: Readonly<Record<ReadRow['by'], FieldFault>> = {
  tenant_id: { path: 'tenant_id', message: 'is the id of no tenant' },
  external_id: { path: 'external_id', message: 'is the external_id of no tenant' },
}

const unmade = 'unmade '

function tenantsOf(
  living: readonly FoundTenant[],
  { isDry, createsTenants }: Order,
  isFree: (read: ReadRow) => boolean,
): Standing['tenantOf'] {
  const byId = new Set(living.map(({ id }) => id))
  const byExternalId = new Map(living.map(({ id, external_id }) => [external_id, id]))
  return read => {
    const { by, tenant } = read
    const id = by === 'external_id' ? byExternalId.get(tenant) : byId.has(tenant) ? tenant : undefined
    if (id !== undefined) return id
    // No tenant is made for a row whose digest is not free, and a dry call makes none: such a row is judged by its digest.
    const isNamed = by === 'external_id' && createsTenants && (isDry || !isFree(read))
    return isNamed ? `${unmade}${tenant}` : noTenant[by]
  }
}

/** How many rows can become keys, by tenant. */
function countAdded(free: readonly ReadRow[], living: readonly FoundTenant[]): Map<string, number> {
  const byName = new Map(
    living.flatMap(({ id, external_id }) => [
      [`tenant_id ${id}`, id],
      [`external_id ${external_id}`, id],
    ]),
  )
  const added = new Map<string, number>()
  for (const { by, tenant } of free) {
    const id = byName.get(`${by} ${tenant}`)
    if (id !== undefined) added.set(id, (added.get(id) ?? 0) + 1)
  }
  return added
}

async function countAll(
  { config }: ImportNeeds,
  tx: Tx,
  { isDry }: Order,
  place: Standing['place'],
  added: ReadonlyMap<string, number>,
): Promise<readonly KeyCounts[]> {
  const most = {
    // With so few keys of any kind a tenant is below its caps, whatever the call adds.
    few: Math.max(0, config.maxActiveKeysPerTenant - importRowsMax),
    active: config.maxActiveKeysPerTenant,
    ended: endedMax(config.maxActiveKeysPerTenant) + endedMargin,
  }
  if (added.size === 0) return []
  const counts = await countKeysOf(tx, [...added.keys()], place, most)
  const near = counts.filter(({ tenant_id, active }) => {
    const rows = added.get(tenant_id) ?? 0
    return rows > unlockedMax || active >= most.active - quotaMargin
  })
  if (isDry || near.length === 0) return counts
  const nearIds = near.map(({ tenant_id }) => tenant_id)
  await lockTenantCaps(tx, nearIds)
  const again = new Map((await countKeysOf(tx, nearIds, place, most)).map(row => [row.tenant_id, row]))
  return counts.map(row => again.get(row.tenant_id) ?? row)
}
