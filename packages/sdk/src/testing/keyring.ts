import { randomUUID } from 'node:crypto'
import { readInteger } from '../http/option-values.ts'
import { digestOf } from '../runtime/digest.ts'
import type { RateLimit } from '../store/rate-limits.ts'
import { Store } from '../store/store.ts'
import { EndedKeys } from '../verify/ended-keys.ts'
import type { Verdict } from '../verify/verdict.ts'
import { createVerify, type Requirements, type Served } from '../verify/verify.ts'
import { drawKey } from './draw-key.ts'

/** The properties of a test key. Every one has a default that suits most tests. */
export interface TestKeyOptions {
  env?: 'live' | 'test' | undefined
  tenantId?: string | undefined
  scopes?: readonly string[] | undefined
  rateLimits?: readonly RateLimit[] | undefined
  /** Milliseconds since the epoch. Default: never. */
  expiresAt?: number | undefined
}

/** A key made by a test keyring. */
export interface TestKey {
  /** The key itself, as a customer sends it. */
  key: string
  keyId: string
  tenantId: string
}

/** A test double of a keyring; made by `createTestKeyring`. */
export interface TestKeyring {
  /** Verifies a key as a keyring does. */
  verify(key: string | null | undefined, requirements?: Requirements): Verdict
  /**
   * Makes a valid key.
   *
   * @throws TypeError naming a limit that the service would reject
   */
  issue(options?: TestKeyOptions): TestKey
  /** Revokes a key: from now on it is refused as `revoked_key`. */
  revoke(key: TestKey): void
  /** Simulates a service that is away for too long: every key is refused as `stale` until `recover`. */
  lose(): void
  /** Ends `lose`. */
  recover(): void
}

const KEYS_MAX = 1_000_000
const LATE = 60_000

/**
 * A keyring for your own tests, wherever the SDK takes a keyring. It calls no service, and verifies keys with the production
 * code.
 */
export function createTestKeyring({ env = 'live' }: { env?: 'live' | 'test' | 'both' } = {}): TestKeyring {
  let monotonic = 0
  const store = new Store(KEYS_MAX)
  store.confirm(0)
  const ended = new EndedKeys()
  const served: Served = { store, ended, hits: 0, misses: 0, evictions: 0 }
  const clock = { wall: () => Date.now(), monotonic: () => monotonic }
  return {
    verify: createVerify(served, { env, cachedTtlMs: LATE, clock }),
    issue({ env: of, tenantId = randomUUID(), scopes = [], rateLimits = [], expiresAt } = {}) {
      for (const [at, { limit, windowMs }] of rateLimits.entries()) {
        readInteger(`rateLimits.${at}.limit`, limit, 1, 1_000_000_000)
        readInteger(`rateLimits.${at}.windowMs`, windowMs, 1_000, 2_678_400_000)
      }
      const keyEnv = of ?? (env === 'both' ? 'live' : env)
      const key = drawKey(`kr_${keyEnv}_`)
      const keyId = randomUUID()
      store.upsert({
        keyId,
        tenantId,
        env: keyEnv,
        digest: digestOf(key),
        scopes: [...scopes],
        rateLimits: rateLimits.length === 0 ? undefined : [...rateLimits],
        expiresAt: expiresAt ?? Number.POSITIVE_INFINITY,
      })
      return { key, keyId, tenantId }
    },
    revoke(key) {
      const digest = digestOf(key.key)
      const slot = store.find(digest)
      if (slot !== -1) ended.add(store.records, slot, Date.now())
      store.remove(key.keyId, digest)
    },
    lose() {
      monotonic = LATE
    },
    recover() {
      monotonic = 0
    },
  }
}
