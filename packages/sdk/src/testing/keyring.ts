import { readReports } from '../http/connection-options.ts'
import type { Keyring, KeyringStats } from '../keyring/keyring.ts'
import { UnknownKeys } from '../keyring/unknown-keys.ts'
import type { Store } from '../store/store.ts'
import { withGateParts } from '../verify/gate-parts.ts'
import { Shadow } from '../verify/shadow.ts'
import { createVerify, type Served } from '../verify/verify.ts'
import { readTestOptions, type TestKeyringOptions } from './keyring-options.ts'
import { readCidrs, type TestKey, type TestKeyOptions } from './test-key.ts'
import { KEYS_MAX, TestKeys } from './test-keys.ts'

/** A test double of a keyring; made by `createTestKeyring`. */
export interface TestKeyring extends Keyring {
  /**
   * Makes a valid key.
   *
   * @throws TypeError naming a limit, a range or a text that the service would reject
   */
  issue(options?: TestKeyOptions): TestKey
  /** Ends a key: from now on it is refused for this reason, `revoked_key` by default. `enable` undoes `disabled`. */
  revoke(key: TestKey, cause?: 'revoked' | 'disabled' | 'suspended' | 'expired' | 'deleted'): void
  /**
   * Pauses a key: it is refused as `disabled_key` until `enable`.
   *
   * @throws TypeError for a key that was revoked or has expired
   */
  disable(key: TestKey): void
  /**
   * Ends `disable`, and gives back exactly what was. An active key stays as it is.
   *
   * @throws TypeError for a key that was revoked or has expired
   */
  enable(key: TestKey): void
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

const LATE = 60_000
const none = '00000000-0000-4000-8000-000000000000'

/**
 * A keyring for your own tests, wherever the SDK takes a keyring. It calls no service, and verifies keys with the production
 * code.
 */
export function createTestKeyring(options: TestKeyringOptions = {}): TestKeyring {
  const { env, onUnavailable, isShadow, ...own } = readTestOptions(options)
  let monotonic = 0
  const keys = new TestKeys(options)
  const { store, ended } = keys
  const served: Served = { store, ended, hits: 0, misses: 0, evictions: 0 }
  const clock = { wall: () => Date.now(), monotonic: () => monotonic }
  const verify = createVerify(served, { env, cachedTtlMs: LATE, clock, onUnavailable })
  const unknownKeys = openOwnCheck(own, keys, { clock, served, cachedTtlMs: LATE, judge: verify })
  const shadow = new Shadow()
  let hasCompared = false
  if (isShadow || unknownKeys) withGateParts(verify, { shadow: isShadow ? shadow : undefined, unknownKeys })

  const recover = (): void => {
    monotonic = 0
    served.store = store
    served.isPartial = false
  }
  // Several applications of a test may share the keyring, and some close what they were given.
  const close = async (): Promise<void> => {}
  return {
    verify,
    compare(key, accepted, requirements) {
      const verdict = verify(key, requirements)
      hasCompared = true
      shadow.compare(verdict, accepted)
      return verdict
    },
    issue: (given = {}) => keys.issue(given),
    recover,
    close,
    ready: async () => {},
    revoke: (key, cause = 'revoked') => keys.end(key, cause),
    disable: key => keys.disable(key),
    enable: key => keys.enable(key),
    suspendTenant: tenantId => store.setSuspended(tenantId, true),
    resumeTenant: tenantId => store.setSuspended(tenantId, false),
    setTenantCidrs: (tenantId, allowedCidrs) => setTenantCidrs(store, tenantId, allowedCidrs),
    lose(why = 'stale') {
      recover()
      if (why === 'stale') monotonic = LATE
      if (why === 'not_ready') served.store = undefined
      if (why === 'not_held') served.isPartial = true
    },
    stats: () => ({
      ...statsOf(served, env, monotonic),
      ...((hasCompared || isShadow) && { shadow: shadow.stats }),
    }),
    [Symbol.asyncDispose]: close,
  }
}

/** The vendor's own check, as in production: what it accepts is held at once. */
function openOwnCheck(
  { onUnknownKey: check, onError }: Pick<TestKeyringOptions, 'onUnknownKey' | 'onError'>,
  keys: TestKeys,
  deps: Omit<ConstructorParameters<typeof UnknownKeys>[0], 'check' | 'send' | 'onError'>,
): UnknownKeys | undefined {
  if (check === undefined) return undefined
  const reports = readReports({ onError })
  return new UnknownKeys({
    ...deps,
    check,
    send: async (digest, customer, form) => keys.import(digest, customer, form),
    onError: error => reports.error(error),
  })
}

function setTenantCidrs(store: Store, tenantId: string, allowedCidrs: readonly string[]): void {
  const networks = readCidrs(allowedCidrs)
  store.setTenantNetworks(tenantId, networks.isEmpty ? undefined : networks)
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
