/** Judges a key and returns a verdict (`verdict.ts`). `token.ts` is the form of a key. */

import type { Clock } from '../runtime/clock.ts'
import { digestOf } from '../runtime/digest.ts'
import { catchLater } from '../runtime/reports.ts'
import { shownEnd } from '../store/end.ts'
import type { Networks } from '../store/networks.ts'
import type { Records } from '../store/records.ts'
import type { Store } from '../store/store.ts'
import type { EndedKeys } from './ended-keys.ts'
import { isOtherForm, readKeyForm } from './token.ts'
import { type Refused, refusalAfter, refused, type Valid, type Verdict } from './verdict.ts'

/** What a verification requires beyond a valid key. */
export interface Requirements {
  /** The key must have all of these scopes, compared exactly. */
  scopes?: readonly string[] | undefined
  /** The accepted environments. Default: those of the keyring. */
  env?: 'live' | 'test' | 'both' | undefined
  /**
   * The address of the caller, such as `203.0.113.7`, without a port. Read only for a key that is restricted to networks, which is
   * refused as `ip_unknown` without it.
   */
  ip?: string | null | undefined
}

/** What verification reads: the served store, if any, and the counters. */
export interface Served {
  store: Store | undefined
  /** Keys that the service removed from the store. */
  ended?: EndedKeys
  /** True: the store comes from a disk, and may not have all keys. */
  isPartial?: boolean
  /** True: the keyring is closed, and refuses every key. */
  isClosed?: boolean
  hits: number
  misses: number
  /** Evictions of earlier stores. */
  evictions: number
}

const NEVER = Number.POSITIVE_INFINITY

export type Verify = (key: string | null | undefined, requirements?: Requirements) => Verdict

export interface VerifyDeps {
  env: 'live' | 'test' | 'both'
  /** A store confirmed at t is served before t + cachedTtlMs on the monotonic clock, and not from then on. */
  cachedTtlMs: number
  /** Its wall clock judges expiry, at a given reading of the monotonic clock. */
  clock: Pick<Clock, 'monotonic'> & { wall(monotonic: number): number }
  onUnavailable?: ((refusal: Refused, key: string, requirements?: Requirements) => Verdict) | undefined
}

/**
 * The rule that judges a key, in the order of the list of refusals. It never throws, whatever its arguments, and refuses
 * what it cannot judge.
 */
export function createVerify(
  served: Served,
  { env: ownEnv, cachedTtlMs, clock, onUnavailable }: VerifyDeps,
): Verify {
  const judge: Verify = (key, requirements) => {
    if (key === undefined || key === null || key === '') return refused.missing_key
    if (typeof key !== 'string') return refused.malformed_key
    const form = readKeyForm(key)
    const isOther = form === 'malformed'
    if (isOther && !isOtherForm(key)) return refused.malformed_key
    if (!isOther && !isAskedFor(form, ownEnv, requirements)) return refused.wrong_env

    const { store } = served
    if (store === undefined || (isOther && store.acceptsImported === undefined))
      return unavailable(refused.not_ready, key, form, requirements)
    const now = clock.monotonic()
    if (!(store.confirmedAt > now - cachedTtlMs)) return unavailable(refused.stale, key, form, requirements)
    // Without a hash, where no such key can be held: a flood of garbage costs nothing.
    if (isOther && !store.acceptsImported) return refused.malformed_key
    const digest = digestOf(key)
    const slot = store.find(digest)
    if (slot === -1) {
      served.misses++
      const ended = served.ended?.refusalOf(digest)
      if (ended !== undefined) return ended
      const isWhole = store.evictions === 0 && !served.isPartial
      return isWhole ? refused.unknown_key : unavailable(refused.not_held, key, form, requirements)
    }
    served.hits++

    const { records } = store
    const env = records.env(slot)
    if (env !== form) {
      // The checksum covers the environment in the key's text, so only a forged feed can make them differ.
      if (!isOther) return refused.unknown_key
      if (!isAskedFor(env, ownEnv, requirements)) return refused.wrong_env
    }
    // Where no tenant is suspended, no id is read.
    if (store.suspended.size !== 0 && store.suspended.has(records.tenantId(slot)))
      return refused.suspended_tenant
    const end = records.end(slot)
    if (end !== NEVER && !(clock.wall(now) < end)) return refusalAfter(end)
    const networks = store.networksOf(slot)
    if (networks !== undefined) {
      const why = refusalAt(networks, requirements)
      if (why !== undefined) return why
    }
    if (!hasAllOf(records.scopes(slot), requirements)) return refused.insufficient_scope
    const verdict = validVerdict(records, slot, env)
    store.labels?.add(verdict, slot)
    return verdict
  }

  /** The vendor's own verdict, which must meet the same conditions. */
  const unavailable = (refusal: Refused, key: string, form: string, requirements?: Requirements): Verdict => {
    if (onUnavailable === undefined || served.isClosed === true) return refusal
    try {
      const own = onUnavailable(refusal, key, requirements)
      catchLater(own, () => {})
      const isFit =
        own?.valid === true &&
        typeof own.keyId === 'string' &&
        typeof own.tenantId === 'string' &&
        isEnv(own.env) &&
        (form === 'malformed' ? isAskedFor(own.env, ownEnv, requirements) : own.env === form) &&
        mayBeValid(served, key, own.tenantId, clock.wall(clock.monotonic()), requirements) &&
        Array.isArray(own.scopes) &&
        (own.expiresAt === null || clock.wall(clock.monotonic()) < own.expiresAt) &&
        hasAllOf(own.scopes, requirements)
      return isFit ? own : refusal
    } catch {
      return refusal
    }
  }

  return function verify(key, requirements) {
    try {
      return judge(key, requirements)
    } catch {
      return refused.not_ready
    }
  }
}

/** Whether keyring and request both accept keys of this environment. */
function isAskedFor(
  env: 'live' | 'test',
  ownEnv: VerifyDeps['env'],
  requirements: Requirements | null | undefined,
): boolean {
  if (ownEnv !== 'both' && env !== ownEnv) return false
  const required = requirements?.env
  return required === undefined || required === 'both' || env === required
}

const isEnv = (env: unknown): env is 'live' | 'test' => env === 'live' || env === 'test'

/** Undefined if the address is in the networks. */
function refusalAt(networks: Networks, requirements: Requirements | null | undefined): Refused | undefined {
  const place = networks.place(requirements?.ip)
  if (place === 'inside') return undefined
  return place === 'unknown' ? refused.ip_unknown : refused.ip_not_allowed
}

/** By what the node still knows of the key, or else of its tenant. Of a key that it does not hold, own networks are unknown. */
function mayBeValid(
  { store, ended }: Served,
  key: string,
  tenantId: string,
  now: number,
  requirements: Requirements | undefined,
): boolean {
  const digest = digestOf(key)
  if (ended?.refusalOf(digest) !== undefined) return false
  if (store === undefined) return true
  if (store.suspended.has(tenantId)) return false
  const slot = store.find(digest)
  if (slot !== -1) {
    if (store.suspended.has(store.records.tenantId(slot))) return false
    if (!(now < store.records.end(slot))) return false
  }
  const networks = slot === -1 ? store.tenantNetworks.get(tenantId) : store.networksOf(slot)
  return networks === undefined || refusalAt(networks, requirements) === undefined
}

/** Two literals, because spreading one into another costs more than the whole look-up. */
function validVerdict(records: Records, slot: number, env: 'live' | 'test'): Valid {
  const keyId = records.keyId(slot)
  const tenantId = records.tenantId(slot)
  const scopes = records.scopes(slot)
  const rateLimits = records.rateLimits(slot)
  const expiresAt = shownEnd(records.end(slot))
  if (rateLimits === undefined) return { valid: true, code: 'valid', keyId, tenantId, env, scopes, expiresAt }
  return { valid: true, code: 'valid', keyId, tenantId, env, scopes, expiresAt, rateLimits }
}

/** Unknown requirements, such as a misspelt one, are never met. */
function hasAllOf(scopes: readonly string[], requirements: Requirements | null | undefined): boolean {
  if (requirements === undefined || requirements === null) return true
  if (typeof requirements !== 'object') return false
  for (const name in requirements) if (name !== 'scopes' && name !== 'env' && name !== 'ip') return false
  return requirements.scopes === undefined || hasAll(scopes, requirements.scopes)
}

/** Scopes that are not an array of strings, from untyped code, are never met. */
function hasAll(scopes: readonly string[], required: readonly string[]): boolean {
  if (!Array.isArray(required)) return false
  for (let at = 0; at < required.length; at++) if (!has(scopes, required[at] as string)) return false
  return true
}

/** A loop, because calling `includes` costs more than the few comparisons. */
function has(scopes: readonly string[], scope: string): boolean {
  for (let at = 0; at < scopes.length; at++) if (scopes[at] === scope) return true
  return false
}
