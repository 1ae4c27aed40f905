import type { EmbedKey } from '@keyrail/contract/embed'
import type { Key } from '@keyrail/contract/vendor/keys'

/** A key as the tenant's browser sees it. Fields are listed one by one, so that new fields of keys stay hidden. */
export const toEmbedKey = (key: Key): EmbedKey => ({
  object: key.object,
  id: key.id,
  name: key.name,
  display_prefix: key.display_prefix,
  scopes: key.scopes,
  rate_limits: key.rate_limits,
  expires_at: key.expires_at,
  revoked_at: key.revoked_at,
  revoked_reason: key.revoked_reason,
  rotated_from: key.rotated_from,
  rotated_to: key.rotated_to,
  last_used_at: key.last_used_at,
  updated_at: key.updated_at,
  created_at: key.created_at,
})
