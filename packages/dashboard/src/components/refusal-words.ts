import type { RefusalReason } from '@keyrail/contract/usage'
import type { ExplainedRefusal } from '@keyrail/contract/vendor/explain'

/** Why a key is refused, in a word or two. */
export const refusalWords: Readonly<Record<RefusalReason | ExplainedRefusal, string>> = {
  malformed_key: 'Not a key',
  unknown_key: 'Unknown key',
  revoked_key: 'Revoked key',
  disabled_key: 'Paused key',
  suspended_tenant: 'Suspended tenant',
  expired_key: 'Expired key',
  too_old: 'Key too old',
  ip_unknown: 'Address unknown',
  ip_not_allowed: 'Address not allowed',
  insufficient_scope: 'Missing scope',
  rate_limited: 'Over the limit',
}
