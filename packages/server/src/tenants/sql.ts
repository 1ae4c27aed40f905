import { sql } from '../platform/db/connection.ts'
import { changesOne } from '../platform/db/touch.ts'
import type { ReadTx, Tx } from '../platform/db/transaction.ts'
import type { ListBounds } from '../platform/paging/list-leg.ts'
import type { PrefixRange } from '../platform/paging/prefix.ts'
import type { WalkPosition } from '../platform/paging/walks.ts'
import { foundByWord, isFirstFound } from '../platform/paging/words.ts'

export interface TenantRow {
  id: string
  external_id: string
  name: string | null
  meta: Record<string, unknown>
  /** In canonical form. Empty: any. */
  allowed_cidrs: string[]
  delete_protection: boolean
  embed_epoch: number
  suspended_at: Date | null
  suspended_reason: string | null
  created_at: Date
  updated_at: Date
}

const columns =
  'id, external_id, name, meta, allowed_cidrs, delete_protection, embed_epoch, suspended_at, suspended_reason, created_at, updated_at'

const insert = sql(
  'tenants.insert',
  `insert into tenants (workspace_id, id, external_id, name, meta, created_at, updated_at, allowed_cidrs,
     delete_protection)
   values ($1, $2, $3, $4, $5, $6, $6, $7, $8)`,
  { tenants_external_id_unique: 'external_id_taken' },
)
export const insertTenant = (tx: Tx, row: TenantRow) => tx.send(insert, insertValues(tx, row))
const insertValues = ({ workspaceId }: Tx, row: TenantRow) => [
  workspaceId,
  row.id,
  row.external_id,
  row.name,
  JSON.stringify(row.meta),
  row.created_at,
  row.allowed_cidrs,
  row.delete_protection,
]

const lockMeeting = sql(
  'tenants.lock_meeting',
  `select pg_advisory_xact_lock(hashtextextended('keyrail.meeting ' || $1::text, 0))`,
)
/** `free_in_ms`: until the oldest of so many tenants was met a minute ago. */
const readMet = sql(
  'tenants.read_met',
  `select count(*)::int as met,
     (extract(epoch from min(met_at) + interval '60 seconds' - service_now()) * 1000)::float8 as free_in_ms
   from (select met_at from tenants
     where workspace_id = $1 and met_at > service_now() - interval '60 seconds'
     order by met_at desc limit $2) minute`,
)
/** Lets one request of the workspace meet a tenant at a time. `most`: more than so many need not be counted. */
export async function lockMeetings(tx: Tx, externalId: string, most: number) {
  const [, [found], [met]] = await Promise.all([
    tx.query(lockMeeting, [tx.workspaceId]),
    findTenantsByExternalId(tx, externalId),
    tx.query<{ met: number; free_in_ms: number | null }>(readMet, [tx.workspaceId, most]),
  ])
  return [found ?? null, met ?? { met: 0, free_in_ms: null }] as const
}

/** The clock is read when the row is written, because the transaction may have waited for its turn. */
const insertMet = sql(
  'tenants.insert_met',
  `insert into tenants (workspace_id, id, external_id, name, meta, created_at, updated_at, allowed_cidrs,
     delete_protection, met_at)
   values ($1, $2, $3, $4, $5, $6, $6, $7, $8, service_now())
   on conflict (workspace_id, external_id) where deleted_at is null do nothing
   returning id`,
)
/** @returns whether it was inserted: not if a tenant with its external id exists. */
export const insertMetTenant = async (tx: Tx, row: TenantRow): Promise<boolean> =>
  (await tx.query(insertMet, insertValues(tx, row))).length > 0

const find = sql(
  'tenants.find',
  `select ${columns} from tenants where workspace_id = $1 and id = $2 and deleted_at is null`,
)
export async function findTenant(tx: ReadTx, id: string): Promise<TenantRow | null> {
  const [row] = await tx.query<TenantRow>(find, [tx.workspaceId, id])
  return row ?? null
}

/** Conflicts with the share lock of a request that issues a key to the tenant. */
const lock = sql(
  'tenants.lock',
  `select ${columns} from tenants where workspace_id = $1 and id = $2 and deleted_at is null for no key update`,
)
export async function lockTenant(tx: Tx, id: string): Promise<TenantRow | null> {
  const [row] = await tx.query<TenantRow>(lock, [tx.workspaceId, id])
  return row ?? null
}

const findByExternalId = sql(
  'tenants.find_by_external_id',
  `select ${columns} from tenants where workspace_id = $1 and external_id = $2 and deleted_at is null`,
)
/** At most one row: the external id is unique among tenants that are not deleted. */
export const findTenantsByExternalId = (tx: ReadTx, externalId: string) =>
  tx.query<TenantRow>(findByExternalId, [tx.workspaceId, externalId])

const list = sql(
  'tenants.list',
  `select ${columns} from tenants
   where workspace_id = $1 and deleted_at is null and ($2::uuid is null or id < $2)
   order by id desc limit $3`,
)
/** Newest first, one row more than the limit. */
export const listTenantRows = (tx: ReadTx, before: string | null, limit: number) =>
  tx.list<TenantRow>(list, [tx.workspaceId, before, limit + 1], { most: limit + 1 })

const listByIds = sql(
  'tenants.list_by_ids',
  `select ${columns} from tenants
   where workspace_id = $1 and deleted_at is null and id = any($2) and ($3::uuid is null or id < $3)
   order by id desc limit $4`,
)
/** As `listTenantRows`, of these ids alone. */
export const listTenantRowsByIds = (
  tx: ReadTx,
  ids: readonly string[],
  before: string | null,
  limit: number,
) => tx.list<TenantRow>(listByIds, [tx.workspaceId, ids, before, limit + 1], { most: limit + 1 })

/** With the folded texts, which order a search. */
export interface FoundTenantRow extends TenantRow {
  name_folded: string | null
  external_id_folded: string
  /** The further word of the name that was found, if it was one. */
  word: string | null
}

/**
 * A first page and a next one have separate statements, so that each gets a plan for its own conditions.
 * @param place what orders the search: a text and the id
 */
const search = (
  name: string,
  place: string,
  { from, word, more }: Record<'from' | 'word' | 'more', string>,
) => {
  const found = `select ${columns}, name_folded, external_id_folded, ${word} as word from ${from}
     where workspace_id = $1 and deleted_at is null and ($4::uuid is null or id <> $4) and ${more}`
  const order = `order by ${place} limit $5`
  return {
    first: sql(`tenants.search.${name}`, `${found} ${order}`),
    next: sql(`tenants.search.${name}.next`, `${found} and (${place}) > ($6, $7::uuid) ${order}`),
  }
}
const words = { list: `'tenant'`, of: 'tenants', first: '$2', last: '$3' }
/** A tenant that is found by its name is not found again by its external id, nor then by a further word of its name. */
export const tenantSearches = {
  name: search('name', 'name_folded, id', {
    from: 'tenants',
    word: 'null',
    more: 'name_folded between $2 and $3',
  }),
  external_id: search('external_id', 'external_id_folded, id', {
    from: 'tenants',
    word: 'null',
    more: 'external_id_folded between $2 and $3 and coalesce(name_folded not between $2 and $3, true)',
  }),
  word: search('word', 'w.word, w.found_id', {
    from: foundByWord('tenants', words),
    word: 'w.word',
    more: `external_id_folded not between $2 and $3 and ${isFirstFound(words)}`,
  }),
}
/**
 * Tenants of which such a text begins with a prefix, in the order of the text.
 * @param exceptId is left out.
 */
export const searchTenantRows = (
  tx: Tx,
  by: keyof typeof tenantSearches,
  { first, last }: PrefixRange,
  exceptId: string | null,
  after: WalkPosition | null,
  bounds: ListBounds,
) => {
  const statement = tenantSearches[by][after === null ? 'first' : 'next']
  const place = after === null ? [] : [after.value, after.id]
  const values = [tx.workspaceId, first, last, exceptId, bounds.most, ...place]
  return tx.list<FoundTenantRow>(statement, values, bounds)
}

const update = sql(
  'tenants.update',
  changesOne(
    `update tenants set name = $3, meta = $4, embed_epoch = $5, updated_at = $6, allowed_cidrs = $7,
       delete_protection = $8
     where workspace_id = $1 and id = $2`,
  ),
)
export const updateTenantRow = (tx: Tx, row: TenantRow) =>
  tx.send(update, [
    tx.workspaceId,
    row.id,
    row.name,
    JSON.stringify(row.meta),
    row.embed_epoch,
    row.updated_at,
    row.allowed_cidrs,
    row.delete_protection,
  ])

const suspend = sql(
  'tenants.suspend',
  changesOne(
    'update tenants set suspended_at = $3, suspended_reason = $4, updated_at = $5 where workspace_id = $1 and id = $2',
  ),
)
/** Sets or clears the suspension of a tenant. */
export const setSuspension = (tx: Tx, row: TenantRow) =>
  tx.send(suspend, [tx.workspaceId, row.id, row.suspended_at, row.suspended_reason, row.updated_at])

const remove = sql(
  'tenants.delete',
  changesOne(
    'update tenants set deleted_at = $3, updated_at = $3, embed_epoch = embed_epoch + 1 where workspace_id = $1 and id = $2',
  ),
)
/** Keeps the row of a deleted tenant: its keys stay readable, and its external_id is free again. */
export const markTenantDeleted = (tx: Tx, id: string, at: Date) => tx.send(remove, [tx.workspaceId, id, at])
