import type { Tenant } from '@keyrail/contract/vendor/tenants'
import { iso, isoOrNull } from '../platform/time.ts'
import type { TenantRow } from './sql.ts'

/** The tenant as the target of an audit row. */
export const toTarget = (id: string) => ({ targetType: 'tenant' as const, targetId: id, env: null })

export const toTenant = (row: TenantRow): Tenant => ({
  object: 'tenant',
  id: row.id,
  external_id: row.external_id,
  name: row.name,
  meta: row.meta,
  allowed_cidrs: row.allowed_cidrs,
  suspended_at: isoOrNull(row.suspended_at),
  suspended_reason: row.suspended_reason,
  delete_protection: row.delete_protection,
  updated_at: iso(row.updated_at),
  created_at: iso(row.created_at),
})
