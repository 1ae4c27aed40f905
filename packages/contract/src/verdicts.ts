/**
 * The verdicts on a key. The SDK and `POST /v1/keys/verify` have their codes from here. No schema is in this file, because the SDK
 * ships it.
 */

/**
 * Why a key is refused. Codes are for programs and never change their meaning. If several reasons apply, the verdict is the
 * first of them in this list.
 */
export const keyRefusals = {
  missing_key: 'No API key was presented',
  malformed_key: 'This is not an API key: its form or its checksum is wrong',
  wrong_env: 'The API key belongs to the other environment',
  not_ready: 'No keys are loaded, so none can be verified',
  stale: 'The API keys held here were not confirmed recently enough',
  not_held: 'The API key is not held here, and not all keys are',
  unknown_key: 'The API key is unknown or revoked',
  revoked_key: 'The API key has been revoked',
  disabled_key: 'The API key is disabled',
  suspended_tenant: 'The account that the API key belongs to is suspended',
  expired_key: 'The API key has expired',
  too_old: 'The API key is older than its project allows',
  ip_unknown: 'The API key is restricted to networks, and the address of the caller is not known',
  ip_not_allowed: 'The API key may not be used from this address',
  insufficient_scope: 'The API key lacks a required scope',
} as const
export type KeyRefusal = keyof typeof keyRefusals

/**
 * The refusals of keys that have ended, by the `cause` of a tombstone. A deleted tenant or project has lost its right to its keys,
 * so they count as revoked.
 */
export const refusalsByCause = {
  revoked: 'revoked_key',
  expired: 'expired_key',
  deleted: 'revoked_key',
  disabled: 'disabled_key',
  suspended: 'suspended_tenant',
} as const satisfies Readonly<Record<string, KeyRefusal>>
export type EndCause = keyof typeof refusalsByCause

/** Refusals that only a node gives, which holds keys for a while. The service knows each key, as it is now. */
export const nodeRefusals = [
  'wrong_env',
  'not_ready',
  'stale',
  'not_held',
] as const satisfies readonly KeyRefusal[]
type NodeRefusal = (typeof nodeRefusals)[number]

/** The verdict on a key whose limits do not allow the request. Limits are charged last. */
export const limitRefusal = 'rate_limited'

export type ServiceVerdict = 'valid' | Exclude<KeyRefusal, NodeRefusal> | typeof limitRefusal
/** The verdicts of the service, in the order of judging. */
export const serviceVerdicts: readonly ServiceVerdict[] = [
  'valid',
  ...(Object.keys(keyRefusals) as KeyRefusal[]).filter(
    (code): code is Exclude<KeyRefusal, NodeRefusal> => !(nodeRefusals as readonly string[]).includes(code),
  ),
  limitRefusal,
]

/** What a keyring beside an old check may find where the old check accepts, in the order of judging. */
export type ShadowRefusal = KeyRefusal | typeof limitRefusal
export const shadowRefusals: readonly ShadowRefusal[] = [
  ...(Object.keys(keyRefusals) as KeyRefusal[]),
  limitRefusal,
]
/** What a guard in shadow would refuse has it before the code: whether the old check accepts is not known there. */
export const guardPrefix = 'guard_'
/**
 * What nodes count of requests that a keyring judges beside an old check: both agree, the old check alone refuses, the keyring alone
 * refuses, by code, or a guard would refuse, by code. In reports each has `shadowPrefix` before it.
 */
export const shadowWords = [
  'agreed',
  'accepted',
  ...shadowRefusals,
  ...shadowRefusals.map(code => `${guardPrefix}${code}` as const),
] as const
export type ShadowWord = (typeof shadowWords)[number]
export const shadowPrefix = 'shadow_'

/** The status with which a request is answered whose key is refused. */
export function refusalStatus(code: KeyRefusal): 401 | 403 | 503 {
  if (code === 'ip_unknown' || code === 'ip_not_allowed' || code === 'insufficient_scope') return 403
  return code === 'not_ready' || code === 'stale' || code === 'not_held' ? 503 : 401
}
