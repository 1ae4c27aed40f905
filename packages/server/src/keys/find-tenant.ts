import { sql } from '../platform/db/connection.ts'
import type { ReadTx } from '../platform/db/transaction.ts'

const findTenant = sql(
  'keys.find_tenant',
  'select id from tenants where workspace_id = $1 and external_id = $2 and deleted_at is null',
)
/** The tenant with this external id. The row is not locked, so the tenant may be deleted before the caller locks it. */
export async function findTenantId(tx: ReadTx, externalId: string): Promise<string | null> {
  const [row] = await tx.query<{ id: string }>(findTenant, [tx.workspaceId, externalId])
  return row?.id ?? null
}
