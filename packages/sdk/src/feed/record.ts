import { digestFromBase64 } from '../runtime/digest.ts'
import { Networks } from '../store/networks.ts'
import { readRateLimits } from '../store/rate-limits.ts'
import type { StoredKey } from '../store/records.ts'
import { readKeyLabel } from './label.ts'
import { CIDR, IMPORTED, LIFETIME, SUSPENDED } from './listed.ts'
import { isObject, isText, type Json, readTime } from './values.ts'

/** Which keys a node asks for. Every answer must match it. */
export interface Scope {
  projectId: string
  env: 'live' | 'test' | 'both'
  /** Sorted and unique. Empty: the whole project. */
  tenantIds: readonly string[]
  /** Names of the requested features, sorted. */
  features?: readonly string[] | undefined
  /** Address of the service. Two installations, one restored from the other, have the same ids. */
  service?: string | undefined
}

/** The features by which keys are found or refused. Every node asks for them. */
export const judged: readonly string[] = [CIDR, IMPORTED, LIFETIME, SUSPENDED]

/** Whether the node asks for what stands in verdicts beside the key: all features but those by which it judges. */
export const hasLabels = ({ features = [] }: Scope): boolean => features.some(name => !judged.includes(name))

/** The id and digest of a key. One of them may be unreadable. */
export interface KeyNames {
  keyId: string | undefined
  digest: string | undefined
}

/** A key of the feed that cannot be read. Only this key is refused. */
export interface Unreadable extends KeyNames {
  /** The wrong field. */
  why: string
}

/** Reads one key of a snapshot or a change. Ignores unknown fields. */
export function readRecord(value: unknown, scope: Scope): StoredKey | Unreadable {
  const names = readNames(value)
  const { keyId, digest } = names
  if (!isObject(value)) return unreadable(names, 'it is not an object')
  if (keyId === undefined) return unreadable(names, 'key_id')
  if (digest === undefined) return unreadable(names, 'lookup_hash')
  const { tenant_id, env, scopes, expires_at, too_old_at, rate_limits, allowed_cidrs } = value
  if (!isText(tenant_id)) return unreadable(names, 'tenant_id')
  if (scope.tenantIds.length > 0 && !scope.tenantIds.includes(tenant_id))
    return unreadable(names, 'tenant_id, which was not asked for')
  if (env !== 'live' && env !== 'test') return unreadable(names, 'env')
  if (scope.env !== 'both' && env !== scope.env) return unreadable(names, 'env, which was not asked for')
  if (!isTexts(scopes)) return unreadable(names, 'scopes')
  const expiresAt = expires_at === null ? Number.POSITIVE_INFINITY : readTime(expires_at)
  if (Number.isNaN(expiresAt)) return unreadable(names, 'expires_at')
  const tooOldAt = too_old_at === undefined ? Number.POSITIVE_INFINITY : readTime(too_old_at)
  if (Number.isNaN(tooOldAt)) return unreadable(names, 'too_old_at')
  const rateLimits = readRateLimits(rate_limits)
  if (rateLimits === null) return unreadable(names, 'rate_limits')
  const networks = allowed_cidrs === undefined ? undefined : Networks.read(allowed_cidrs)
  if (allowed_cidrs !== undefined && networks === undefined) return unreadable(names, 'allowed_cidrs')
  const record: StoredKey = {
    keyId,
    tenantId: tenant_id,
    env,
    digest,
    scopes,
    rateLimits,
    expiresAt,
    tooOldAt,
    networks,
  }
  return hasLabels(scope) ? { ...record, label: readKeyLabel(value) } : record
}

const unreadable = (names: KeyNames, why: string): Unreadable => ({ ...names, why })

export function readNames(value: unknown): KeyNames {
  const { key_id, lookup_hash }: Json = isObject(value) ? value : {}
  return {
    keyId: isText(key_id) ? key_id : undefined,
    digest: typeof lookup_hash === 'string' ? digestFromBase64(lookup_hash) : undefined,
  }
}

const isTexts = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every(text => typeof text === 'string')
