import type { KeyHygiene, KeyList } from '@keyrail/contract/vendor/keys'
import type { Caller } from '../gate/caller.ts'
import { sightOf } from '../gate/principal.ts'
import type { Tx } from '../platform/db/transaction.ts'
import { page } from '../platform/paging/cursor.ts'
import { listedOne } from '../platform/paging/listed.ts'
import { readSearch, type Search } from '../platform/paging/prefix.ts'
import { type Part, readParts, writePosition } from '../platform/paging/walks.ts'
import { invalidField } from '../platform/refusal.ts'
import { iso, isoOrNull } from '../platform/time.ts'
import { findTenantId } from './find-tenant.ts'
import { type Hygiene, readHygiene } from './hygiene-sql.ts'
import type { KeyNeeds } from './needs.ts'
import { toKey } from './resource.ts'
import {
  type FoundKeyRow,
  isFalling,
  type KeyOrder,
  type KeyWalk,
  prepareWalks,
  walkKeys,
} from './search-sql.ts'

/**
 * A page of the keys that have a status, or that a text finds. Each order is the order of an index, because sorting would read
 * every match: names rise, expiries rise for keys that are about to expire and fall for expired keys.
 */
export async function searchKeysPage({ deps: { cursors }, db, principal }: Caller<KeyNeeds>, query: KeyList) {
  const { workspaceId } = principal
  const { limit, cursor, q, external_id } = query
  const hygiene = hygieneOf(query)
  const search = q === undefined ? null : readSearch(q)
  const { envs, projectIds } = sightOf(principal)
  const within = { envs: query.env === undefined ? envs : [query.env], projectIds }
  // A position belongs to one of these walks: with another filter, it would skip or repeat rows.
  const { limit: _limit, cursor: _cursor, ...filter } = query
  const list = `keys ${JSON.stringify([filter, within])}`
  const after = cursor === undefined ? null : cursors.open(list, workspaceId, cursor)
  const found = await db.inWorkspace(workspaceId, async tx => {
    const tenantId = external_id === undefined ? query.tenant_id : await findTenantId(tx, external_id)
    if (tenantId === null) return listedOne([])
    prepareWalks(tx)
    return await readParts(partsOf(tx, { search, hygiene }, query, within, tenantId ?? null), after, limit)
  })
  return page(
    found,
    limit,
    ({ row }) => toKey(row),
    ({ position }) => cursors.seal(list, workspaceId, writePosition(position)),
  )
}

/** @throws {Refusal} naming the field that does not go with the others */
function hygieneOf(query: KeyList): Hygiene | null {
  const hygiene = readHygiene(query)
  if (hygiene === null) return null
  const { q, status, name, include_revoked } = query
  const others = { q, status, name, include_revoked: include_revoked === 'true' ? true : undefined }
  for (const [field, value] of Object.entries(others))
    if (value !== undefined) throw invalidField(field, 'does not go with hygiene')
  return hygiene
}

function partsOf(
  tx: Tx,
  { search, hygiene }: { search: Search | null; hygiene: Hygiene | null },
  { include_revoked, project_id, name, ...query }: KeyList,
  { envs, projectIds }: { envs: readonly KeyWalk['env'][]; projectIds: KeyWalk['projectIds'] },
  tenantId: string | null,
): Part<FoundKeyRow>[] {
  const status = query.status ?? null
  const isRevoked =
    status !== null ? [status === 'revoked'] : include_revoked === 'true' ? [false, true] : [false]
  const part = (order: KeyOrder, more: Pick<KeyWalk, 'range' | 'id'>): Part<FoundKeyRow> => ({
    order: isFalling(order) ? 'falling' : 'rising',
    placeOf: row => valuesOf[order](row),
    walks: envs.flatMap(env =>
      isRevoked.map(isRevoked => (after, bounds) => {
        const filter = { projectIds, projectId: project_id ?? null, tenantId, name: name ?? null }
        return walkKeys(tx, { ...filter, ...more, order, env, isRevoked, status, hygiene }, after, bounds)
      }),
    ),
  })
  if (hygiene !== null) return [part(orderOf[hygiene.hygiene], { range: null, id: null })]
  if (search === null) {
    const order = status === 'expiring' || status === 'expired' ? status : 'id'
    return [part(order, { range: null, id: null })]
  }
  const { id, range } = search
  return [
    ...(id === null ? [] : [part('id', { range: null, id })]),
    part('name', { range, id }),
    part('display_prefix', { range, id }),
    // This walk is last, so that a cursor of the previous release stays in its part.
    part('word', { range, id }),
  ]
}

const valuesOf: Record<KeyOrder, (row: FoundKeyRow) => string> = {
  id: () => '',
  name: row => row.name_folded ?? '',
  display_prefix: row => row.display_prefix_folded,
  word: row => row.word ?? '',
  expiring: row => isoOrNull(row.expires_at) ?? '',
  expired: row => isoOrNull(row.expires_at) ?? '',
  oldest: () => '',
  endless: () => '',
  idle: row => iso(row.idle_since),
}

const orderOf: Record<KeyHygiene, KeyOrder> = {
  never_expires: 'endless',
  expiring: 'expiring',
  unused: 'idle',
  idle: 'idle',
  too_old: 'oldest',
}
