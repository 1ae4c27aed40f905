import type { RefusalReason } from '@keyrail/contract/usage'
import type { ExplainedRefusal } from '@keyrail/contract/vendor/explain'
import type { ShadowRefusal } from '@keyrail/contract/verdicts'

/** Why a key is refused, in a word or two. */
export const refusalWords: Readonly<Record<RefusalReason | ExplainedRefusal | ShadowRefusal, string>> = {
  missing_key: 'No key',
  malformed_key: 'Not a key',
  wrong_env: 'Key of the other environment',
  not_ready: 'No keys loaded yet',
  stale: 'Keys not confirmed for too long',
  not_held: 'Key not held by the node',
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
