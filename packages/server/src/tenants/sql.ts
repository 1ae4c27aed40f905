import { sql } from '../platform/db/connection.ts'
import type { Tx } from '../platform/db/transaction.ts'

export interface TenantRow {
  id: string
  external_id: string
  name: string | null
  meta: Record<string, unknown>
  embed_epoch: number
  created_at: Date
  updated_at: Date
}

const columns = 'id, external_id, name, meta, embed_epoch, created_at, updated_at'

const insert = sql(
  'tenants.insert',
  `insert into tenants (workspace_id, id, external_id, name, meta, created_at, updated_at)
   values ($1, $2, $3, $4, $5, $6, $6)`,
)
export const insertTenant = (tx: Tx, row: TenantRow) =>
  tx.send(insert, [
    tx.workspaceId,
    row.id,
    row.external_id,
    row.name,
    JSON.stringify(row.meta),
    row.created_at,
  ])

const find = sql(
  'tenants.find',
  `select ${columns} from tenants where workspace_id = $1 and id = $2 and deleted_at is null`,
)
export async function findTenant(tx: Tx, id: string): Promise<TenantRow | null> {
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
/** At most one: of those that are not deleted no two have the same. */
export const findTenantsByExternalId = (tx: Tx, externalId: string) =>
  tx.query<TenantRow>(findByExternalId, [tx.workspaceId, externalId])

const list = sql(
  'tenants.list',
  `select ${columns} from tenants
   where workspace_id = $1 and deleted_at is null and ($2::uuid is null or id < $2)
   order by id desc limit $3`,
)
/** Newest first, one more than the limit. */
export const listTenantRows = (tx: Tx, before: string | null, limit: number) =>
  tx.query<TenantRow>(list, [tx.workspaceId, before, limit + 1])

const update = sql(
  'tenants.update',
  'update tenants set name = $3, meta = $4, embed_epoch = $5, updated_at = $6 where workspace_id = $1 and id = $2',
)
export const updateTenantRow = (tx: Tx, row: TenantRow) =>
  tx.send(update, [
    tx.workspaceId,
    row.id,
    row.name,
    JSON.stringify(row.meta),
    row.embed_epoch,
    row.updated_at,
  ])

const remove = sql(
  'tenants.delete',
  'update tenants set deleted_at = $3, updated_at = $3, embed_epoch = embed_epoch + 1 where workspace_id = $1 and id = $2',
)
/** A deleted tenant's row is kept: its keys stay readable, and its external_id is free again. */
export const markTenantDeleted = (tx: Tx, id: string, at: Date) => tx.send(remove, [tx.workspaceId, id, at])
