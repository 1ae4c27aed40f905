import type { SecretKey } from '@keyrail/contract/vendor/secret-keys'
import { iso, isoOrNull } from '../platform/time.ts'
import type { NewSecretKey, SecretKeyRow } from './sql.ts'

/** A secret key as the API returns it, without the key itself. */
export const toSecretKey = (row: SecretKeyRow): SecretKey => ({
  object: 'secret_key',
  id: row.id,
  env: row.env,
  role: row.role,
  created_by: { type: row.created_by_type, id: row.created_by_id },
  name: row.name,
  meta: row.meta,
  display_prefix: row.display_prefix,
  expires_at: isoOrNull(row.expires_at),
  permissions: row.permissions,
  project_ids: row.project_ids,
  allowed_cidrs: row.allowed_cidrs,
  revoked_at: isoOrNull(row.revoked_at),
  revoked_reason: row.revoked_reason,
  rotated_from: row.rotated_from,
  rotated_to: row.rotated_to,
  last_used_at: isoOrNull(row.last_used_at),
  created_at: iso(row.created_at),
})

/** A newly written secret key, without reading it back. */
export const toNewSecretKey = (key: NewSecretKey): SecretKey =>
  toSecretKey({
    ...key,
    revoked_at: null,
    revoked_reason: null,
    rotated_to: null,
    original_expires_at: null,
    last_used_at: null,
  })
