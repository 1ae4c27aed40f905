import type { Env, RateLimit } from '@keyrail/contract/shared'

/** A key as it is stored. `now` is the store's clock, which alone judges expiry. */
export interface KeyRow {
  id: string
  project_id: string
  tenant_id: string
  env: Env
  name: string | null
  display_prefix: string
  scopes: string[]
  meta: Record<string, unknown>
  rate_limits: RateLimit[] | null
  expires_at: Date | null
  revoked_at: Date | null
  revoked_reason: string | null
  rotated_from: string | null
  rotated_to: string | null
  overlap_ends_at: Date | null
  original_expires_at: Date | null
  last_used_at: Date | null
  /** When it was made in the embed plane; null: elsewhere. */
  embedded_at: Date | null
  created_at: Date
  updated_at: Date
}
export interface JudgedKeyRow extends KeyRow {
  now: Date
}

/** A key as it is first written: nobody has revoked, rotated or used it. */
export interface NewKey {
  id: string
  project_id: string
  tenant_id: string
  env: Env
  name: string | null
  display_prefix: string
  digest: Buffer
  scopes: string[]
  meta: Record<string, unknown>
  rate_limits: RateLimit[] | null
  expires_at: Date | null
  rotated_from: string | null
  /** Whether it is made in the embed plane. */
  is_embedded: boolean
  created_at: Date
}
