import type { RateLimit } from '@keyrail/contract/shared'
import type { Key } from '@keyrail/contract/vendor/keys'
import { iso, isoOrNull } from '../platform/time.ts'
import type { KeyRow, NewKey } from './rows.ts'

/** A key as the API returns it, without the key itself. */
export const toKey = (row: KeyRow): Key => ({
  object: 'api_key',
  id: row.id,
  project_id: row.project_id,
  tenant_id: row.tenant_id,
  env: row.env,
  name: row.name,
  display_prefix: row.display_prefix,
  scopes: row.scopes,
  meta: row.meta,
  rate_limits: row.rate_limits === null ? null : row.rate_limits.map(toRateLimit),
  allowed_cidrs: row.allowed_cidrs,
  expires_at: isoOrNull(row.expires_at),
  revoked_at: isoOrNull(row.revoked_at),
  revoked_reason: row.revoked_reason,
  disabled_at: isoOrNull(row.disabled_at),
  disabled_reason: row.disabled_reason,
  disabled_by: row.disabled_by,
  rotated_from: row.rotated_from,
  rotated_to: row.rotated_to,
  source_id: row.source_id,
  imported_at: isoOrNull(row.imported_at),
  last_used_at: isoOrNull(row.last_used_at),
  updated_at: iso(row.updated_at),
  created_at: iso(row.created_at),
})

/** A newly written key, without reading it back. */
export const toNewKey = (key: NewKey): Key =>
  toKey({
    ...key,
    revoked_at: null,
    revoked_reason: null,
    disabled_at: null,
    disabled_reason: null,
    disabled_by: null,
    rotated_to: null,
    overlap_ends_at: null,
    original_expires_at: null,
    last_used_at: null,
    embedded_at: null,
    imported_at: null,
    source_id: null,
    updated_at: key.created_at,
  })

/** Fields in the order of the contract, which jsonb does not keep. */
export const toRateLimit = ({ id, limit, window_ms, algorithm, scope }: RateLimit): RateLimit => ({
  id,
  limit,
  window_ms,
  algorithm,
  scope,
})

/** The audit target of a key. */
export const toTarget = (key: Pick<KeyRow, 'id' | 'env'>) => ({
  targetType: 'api_key' as const,
  targetId: key.id,
  env: key.env,
})
