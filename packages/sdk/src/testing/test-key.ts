import { readInteger } from '../http/option-values.ts'
import type { Whose } from '../store/labels.ts'
import { Networks } from '../store/networks.ts'
import type { RateLimit } from '../store/rate-limits.ts'
import { isOtherForm, readKeyForm } from '../verify/token.ts'
import type { readLabels } from './keyring-options.ts'

/** The properties of a test key. Every one has a default that suits most tests. */
export interface TestKeyOptions {
  /** The text of a key from elsewhere: 1 to 512 visible ASCII characters. Default: a new key. */
  key?: string | undefined
  env?: 'live' | 'test' | undefined
  tenantId?: string | undefined
  scopes?: readonly string[] | undefined
  /** Ranges from which the key may be used, such as `203.0.113.0/24`; `[]`: everywhere. Default, and null: those of its tenant. */
  allowedCidrs?: readonly string[] | null | undefined
  rateLimits?: readonly RateLimit[] | undefined
  /** Milliseconds since the epoch. Default, and null: never. */
  expiresAt?: number | null | undefined
  /** When the key is too old for its project, in milliseconds since the epoch. Default, and null: never. */
  tooOldAt?: number | null | undefined
  /** In verdicts of a keyring with `labels` or `names`. */
  keyName?: string | undefined
  tenantName?: string | undefined
  /** In verdicts, unless the option `externalId` is false. Default: the tenant id. */
  externalId?: string | undefined
  /** In verdicts, unless the option `keyMeta` is false; `tenantMeta` with `labels` or `meta`. Default: `{}`. */
  meta?: Whose['meta']
  tenantMeta?: Whose['meta']
}

/** A key made by a test keyring. */
export interface TestKey {
  /** The key itself, as a customer sends it. */
  key: string
  keyId: string
  tenantId: string
}

/** @throws TypeError naming a limit that the service would reject */
export function checkLimits(rateLimits: readonly RateLimit[]): void {
  for (const [at, { limit, windowMs }] of rateLimits.entries()) {
    readInteger(`rateLimits.${at}.limit`, limit, 1, 1_000_000_000)
    readInteger(`rateLimits.${at}.windowMs`, windowMs, 1_000, 2_678_400_000)
  }
}

/** @throws TypeError if the service would not take the text as a key of this environment */
export function readText(key: unknown, env: 'live' | 'test'): string {
  if (typeof key !== 'string' || !isOtherForm(key))
    throw new TypeError('key must be a text of 1 to 512 visible ASCII characters')
  const form = readKeyForm(key)
  if (form !== 'malformed' && form !== env) throw new TypeError(`key belongs to the environment ${form}`)
  return key
}

/** A single address is a range, as where the service takes one. */
export function readCidrs(allowedCidrs: readonly string[]): Networks {
  if (!Array.isArray(allowedCidrs)) throw new TypeError('allowedCidrs must be an array of address ranges')
  const ranges = allowedCidrs.map((range, at) => {
    const text = String(range)
    const whole = text.includes('/') ? text : `${text}/${text.includes(':') ? 128 : 32}`
    if (Networks.read([whole]) === undefined)
      throw new TypeError(`allowedCidrs.${at} must be an address range, such as 203.0.113.0/24`)
    return whole
  })
  const networks = Networks.read(ranges)
  if (networks === undefined) throw new TypeError('allowedCidrs takes at most 32 ranges')
  return networks
}

/** What the feed says of a key and its tenant, beside the key. */
export function toLabels(
  tenantId: string,
  { keyName, tenantName, externalId = tenantId, meta = {}, tenantMeta = {} }: TestKeyOptions,
  { hasExternalId, hasKeyMeta, hasNames, hasTenantMeta }: ReturnType<typeof readLabels>,
) {
  return {
    label: { ...(hasNames && { name: keyName ?? null }), ...(hasKeyMeta && { meta }) },
    ofTenant: {
      ...(hasNames && { name: tenantName ?? null }),
      ...(hasExternalId && { externalId }),
      ...(hasTenantMeta && { meta: tenantMeta }),
    },
  }
}

/** Whole milliseconds, as those of the service. Undefined and null: never. */
export const whole = (time: number | null | undefined): number => Math.floor(time ?? Number.POSITIVE_INFINITY)
