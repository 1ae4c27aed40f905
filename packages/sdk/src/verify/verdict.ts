import type { Whose } from '../store/labels.ts'
import type { RateLimit } from '../store/rate-limits.ts'

/**
 * Why a key was refused. Codes are for programs and never change their meaning. They are told in this order:
 * of several reasons the first in the list is the verdict.
 */
export const refusals = {
  missing_key: 'No API key was presented',
  malformed_key: 'This is not an API key: its form or its checksum is wrong',
  wrong_env: 'The API key is of the other environment',
  not_ready: 'No keys are loaded, so none can be verified',
  stale: 'What is known of API keys has not been confirmed for too long',
  not_held: 'The API key is not among those held here, which are not all there are',
  unknown_key: 'The API key is not known, or it was revoked',
  revoked_key: 'The API key has been revoked',
  disabled_key: 'The API key is disabled',
  suspended_tenant: 'The account that the API key belongs to is suspended',
  expired_key: 'The API key has expired',
  insufficient_scope: 'The API key lacks a scope that this needs',
} as const

/** Codes of refusals, for programs. */
export type RefusalCode = keyof typeof refusals

/** A key that may be used now. Holds no secret and may be logged. `scopes` and `rateLimits` are frozen. */
export interface Valid extends Whose {
  valid: true
  code: 'valid'
  keyId: string
  tenantId: string
  env: 'live' | 'test'
  scopes: readonly string[]
  /** Milliseconds since the epoch; null where the key never expires. */
  expiresAt: number | null
  /** The limits that apply to this key; absent where none do. */
  rateLimits?: readonly RateLimit[]
}

/** A key that may not be used, or not now. */
export interface Refused {
  valid: false
  code: RefusalCode
  /** For people, the same for every key refused with this code. */
  message: string
}

/** What is said of a key: whether it may be used now, and if not, why. */
export type Verdict = Valid | Refused

/** One frozen instance a code: refusing a flood of bad keys makes no garbage. */
export const refused: { readonly [Code in RefusalCode]: Refused } = Object.freeze(
  Object.fromEntries(
    Object.entries(refusals).map(([code, message]) => [
      code,
      Object.freeze({ valid: false, code, message } as Refused),
    ]),
  ) as Record<RefusalCode, Refused>,
)
