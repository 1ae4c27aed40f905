import type { Env, RateLimit } from '@keyrail/contract/shared'
import type { KeyPauser } from '@keyrail/contract/vendor/keys'

interface WrittenFirst {
  id: string
  project_id: string
  tenant_id: string
  env: Env
  name: string | null
  display_prefix: string
  scopes: string[]
  meta: Record<string, unknown>
  rate_limits: RateLimit[] | null
  /** In canonical form. Null: the networks of the tenant. Empty: any. */
  allowed_cidrs: string[] | null
  expires_at: Date | null
  rotated_from: string | null
  created_at: Date
}

/** A stored key. Expiry is compared with `now`, the database clock. */
export interface KeyRow extends WrittenFirst {
  revoked_at: Date | null
  revoked_reason: string | null
  /** When the key was paused; null: it is not. */
  disabled_at: Date | null
  disabled_reason: string | null
  /** Who paused the key: only the vendor resumes what the vendor paused. */
  disabled_by: KeyPauser | null
  rotated_to: string | null
  overlap_ends_at: Date | null
  original_expires_at: Date | null
  last_used_at: Date | null
  /** When the key was created with an embed token; null: without one. */
  embedded_at: Date | null
  /** When the key came from another system, and its id there; null: it was made here. */
  imported_at: Date | null
  source_id: string | null
  updated_at: Date
}
export interface JudgedKeyRow extends KeyRow {
  now: Date
  /** Neither revoked nor expired. */
  is_active: boolean
}

/** A new row: not yet revoked, rotated or used. */
export interface NewKey extends WrittenFirst {
  digest: Buffer
  /** Whether it is created with an embed token. */
  is_embedded: boolean
  /** The person or the secret key that made the key; null for an embed token. */
  made_by: string | null
}

/** A place with separate caps: a tenant in one project and environment, for keys made with embed tokens and for all others. */
export interface KeyPlace extends Pick<KeyRow, 'tenant_id' | 'project_id' | 'env'> {
  is_embedded: boolean
}

/** What a project allows its keys. */
export interface ProjectRules extends ScopeRules {
  /** Null: any. */
  max_key_lifetime_days: number | null
}

/** What a project says about the scopes of its keys. */
export interface ScopeRules {
  /** Null: the project has no list. */
  known_scopes: string[] | null
  strict_scopes: boolean
}
