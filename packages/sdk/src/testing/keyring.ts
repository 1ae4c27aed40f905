import { randomUUID } from 'node:crypto'
import { refuseUnknown } from '../http/connection-options.ts'
import { readInteger } from '../http/option-values.ts'
import type { Keyring, KeyringStats } from '../keyring/keyring.ts'
import { digestOf } from '../runtime/digest.ts'
import type { Whose } from '../store/labels.ts'
import { Networks } from '../store/networks.ts'
import type { RateLimit } from '../store/rate-limits.ts'
import { Store } from '../store/store.ts'
import { EndedKeys } from '../verify/ended-keys.ts'
import { Shadow } from '../verify/shadow.ts'
import { isOtherForm, readKeyForm } from '../verify/token.ts'
import { createVerify, type Served, type Verify } from '../verify/verify.ts'
import { drawKey } from './draw-key.ts'

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

/** A test double of a keyring; made by `createTestKeyring`. */
export interface TestKeyring extends Keyring {
  /**
   * Makes a valid key.
   *
   * @throws TypeError naming a limit, a range or a text that the service would reject
   */
  issue(options?: TestKeyOptions): TestKey
  /** Ends a key: from now on it is refused for this reason, `revoked_key` by default. */
  revoke(key: TestKey, cause?: 'revoked' | 'disabled' | 'suspended' | 'expired' | 'deleted'): void
  /** Suspends a tenant: every key of it, also one issued later, is refused as `suspended_tenant` until `resumeTenant`. */
  suspendTenant(tenantId: string): void
  /** Ends `suspendTenant`. */
  resumeTenant(tenantId: string): void
  /**
   * Sets the ranges from which the keys of a tenant may be used, also those issued later, unless a key has `allowedCidrs` of its
   * own. `[]`, as at first: everywhere.
   *
   * @throws TypeError naming a range that the service would reject
   */
  setTenantCidrs(tenantId: string, allowedCidrs: readonly string[]): void
  /**
   * Simulates a keyring that cannot judge. `stale`, the default: the service is away for too long. `not_ready`: no keys are
   * loaded. `not_held`: not all keys are held, so that an unknown one may be valid. Until `recover`.
   */
  lose(why?: 'stale' | 'not_ready' | 'not_held'): void
  /** Ends `lose`. */
  recover(): void
  /** Has no effect, so that several applications may share a test keyring. */
  close(): Promise<void>
}

/** Options of `createTestKeyring`. */
export interface TestKeyringOptions {
  env?: 'live' | 'test' | 'both' | undefined
  externalId?: boolean | undefined
  keyMeta?: boolean | undefined
  labels?: boolean | undefined
  names?: boolean | undefined
  meta?: boolean | undefined
}

const known = { env: true, externalId: true, keyMeta: true, labels: true, names: true, meta: true } as const

const KEYS_MAX = 1_000_000
const LATE = 60_000
const none = '00000000-0000-4000-8000-000000000000'

/**
 * A keyring for your own tests, wherever the SDK takes a keyring. It calls no service, and verifies keys with the production
 * code.
 */
export function createTestKeyring(options: TestKeyringOptions = {}): TestKeyring {
  refuseUnknown('createTestKeyring', options, known)
  const { env = 'live' } = options
  const labels = readLabels(options)
  let monotonic = 0
  const store = new Store(KEYS_MAX, Object.values(labels).includes(true))
  store.confirm(0)
  const ended = new EndedKeys()
  const served: Served = { store, ended, hits: 0, misses: 0, evictions: 0 }
  const clock = { wall: () => Date.now(), monotonic: () => monotonic }
  const verify = createVerify(served, { env, cachedTtlMs: LATE, clock })

  function issue(given: TestKeyOptions = {}): TestKey {
    const { key: text, env: of, tenantId = randomUUID(), scopes = [], rateLimits = [], allowedCidrs } = given
    checkLimits(rateLimits)
    const keyEnv = of ?? (env === 'both' ? 'live' : env)
    const key = text === undefined ? drawKey(`kr_${keyEnv}_`) : readText(text, keyEnv)
    // As a project does from its first import on.
    if (text !== undefined) store.setAcceptsImported(true)
    const keyId = randomUUID()
    const { label, ofTenant } = toLabels(tenantId, given, labels)
    store.upsert({
      keyId,
      tenantId,
      env: keyEnv,
      digest: digestOf(key),
      scopes: [...scopes],
      rateLimits: rateLimits.length === 0 ? undefined : [...rateLimits],
      expiresAt: whole(given.expiresAt),
      tooOldAt: whole(given.tooOldAt),
      networks: allowedCidrs === null || allowedCidrs === undefined ? undefined : readCidrs(allowedCidrs),
      label,
    })
    store.labels?.setTenant(tenantId, ofTenant)
    return { key, keyId, tenantId }
  }

  const recover = (): void => {
    monotonic = 0
    served.store = store
    served.isPartial = false
  }
  // Several applications of a test may share the keyring, and some close what they were given.
  const close = async (): Promise<void> => {}
  const shadow = new Shadow()
  return {
    verify,
    compare: comparing(verify, shadow),
    issue,
    recover,
    close,
    ready: async () => {},
    revoke({ key, keyId }, cause = 'revoked') {
      const digest = digestOf(key)
      store.remove(keyId, digest)
      ended.addCause(digest, cause)
    },
    suspendTenant: tenantId => store.setSuspended(tenantId, true),
    resumeTenant: tenantId => store.setSuspended(tenantId, false),
    setTenantCidrs: (tenantId, allowedCidrs) => setTenantCidrs(store, tenantId, allowedCidrs),
    lose(why = 'stale') {
      recover()
      if (why === 'stale') monotonic = LATE
      if (why === 'not_ready') served.store = undefined
      if (why === 'not_held') served.isPartial = true
    },
    stats: () => ({ ...statsOf(served, env, monotonic), shadow: shadow.stats }),
    [Symbol.asyncDispose]: close,
  }
}

/** @throws TypeError naming a limit that the service would reject */
function checkLimits(rateLimits: readonly RateLimit[]): void {
  for (const [at, { limit, windowMs }] of rateLimits.entries()) {
    readInteger(`rateLimits.${at}.limit`, limit, 1, 1_000_000_000)
    readInteger(`rateLimits.${at}.windowMs`, windowMs, 1_000, 2_678_400_000)
  }
}

/** @throws TypeError if the service would not take the text as a key of this environment */
function readText(key: unknown, env: 'live' | 'test'): string {
  if (typeof key !== 'string' || !isOtherForm(key))
    throw new TypeError('key must be a text of 1 to 512 visible ASCII characters')
  const form = readKeyForm(key)
  if (form !== 'malformed' && form !== env) throw new TypeError(`key belongs to the environment ${form}`)
  return key
}

/** What verdicts have beside the key. */
function readLabels({ externalId = true, keyMeta = true, labels, names, meta }: TestKeyringOptions) {
  return {
    hasExternalId: externalId || names === true,
    hasKeyMeta: keyMeta || meta === true,
    hasNames: labels === true || names === true,
    hasTenantMeta: labels === true || meta === true,
  }
}

/** What the feed says of a key and its tenant, beside the key. */
function toLabels(
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

const comparing =
  (verify: Verify, shadow: Shadow): Keyring['compare'] =>
  (key, accepted, requirements) => {
    const verdict = verify(key, requirements)
    shadow.compare(verdict, accepted)
    return verdict
  }

function setTenantCidrs(store: Store, tenantId: string, allowedCidrs: readonly string[]): void {
  const networks = readCidrs(allowedCidrs)
  store.setTenantNetworks(tenantId, networks.isEmpty ? undefined : networks)
}

/** A single address is a range, as where the service takes one. */
function readCidrs(allowedCidrs: readonly string[]): Networks {
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

function statsOf(
  { store, isPartial = false, hits, misses }: Served,
  env: KeyringStats['env'],
  ageMs: number,
): KeyringStats {
  const isLoaded = store !== undefined
  return {
    serving: isLoaded && ageMs < LATE,
    project: none,
    env,
    node: 'test',
    version: isLoaded ? store.revision : null,
    keys: store?.size ?? 0,
    maxCachedKeys: KEYS_MAX,
    complete: isLoaded && !isPartial,
    confirmedAgeMs: isLoaded ? ageMs : null,
    hits,
    misses,
    evictions: 0,
    evictionRate: 0,
    polls: { snapshot: 0, delta: 0, unchanged: 0, error: 0 },
    lastError: isLoaded && ageMs < LATE ? null : 'network_error',
    source: isLoaded ? 'service' : null,
    holdSeconds: 0,
  }
}

/** Whole milliseconds, as those of the service. Undefined and null: never. */
const whole = (time: number | null | undefined): number => Math.floor(time ?? Number.POSITIVE_INFINITY)
