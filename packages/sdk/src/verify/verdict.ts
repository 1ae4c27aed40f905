import { keyRefusals } from '@keyrail/contract/verdicts'
import { isByAge } from '../store/end.ts'
import type { Whose } from '../store/labels.ts'
import type { RateLimit } from '../store/rate-limits.ts'

/**
 * Why a key is refused. Codes are for programs and never change their meaning. If several reasons apply, the verdict is the
 * first of them in this list.
 */
export const refusals = keyRefusals

/** The codes of refusals. */
export type RefusalCode = keyof typeof refusals

/** The verdict on a valid key. Holds no secret and may be logged. `scopes` and `rateLimits` are frozen. */
export interface Valid extends Whose {
  valid: true
  code: 'valid'
  keyId: string
  tenantId: string
  env: 'live' | 'test'
  scopes: readonly string[]
  /** When the key expires or is too old, in milliseconds since the epoch; null if it never ends. */
  expiresAt: number | null
  /** The limits of the key; absent if it has none. */
  rateLimits?: readonly RateLimit[]
}

/** The verdict on a key that is refused, perhaps only for now. */
export interface Refused {
  valid: false
  code: RefusalCode
  /** For people; the same for every key with this code. */
  message: string
}

/** The result of a verification: the key is valid, or why not. */
export type Verdict = Valid | Refused

/** One frozen instance per code, so that a flood of bad keys creates no garbage. */
export const refused: { readonly [Code in RefusalCode]: Refused } = Object.freeze(
  Object.fromEntries(
    Object.entries(refusals).map(([code, message]) => [
      code,
      Object.freeze({ valid: false, code, message } as Refused),
    ]),
  ) as Record<RefusalCode, Refused>,
)

/** Why a key is refused after its end, as its record has it. */
export const refusalAfter = (end: number): Refused => (isByAge(end) ? refused.too_old : refused.expired_key)
