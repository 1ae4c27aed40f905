import { randomBytes, randomUUID } from 'node:crypto'
import { digestOf } from './runtime/digest.ts'
import type { RateLimit } from './store/rate-limits.ts'
import { Store } from './store/store.ts'
import { EndedKeys } from './verify/ended-keys.ts'
import type { Verdict } from './verify/verdict.ts'
import { createVerify, type Requirements, type Served } from './verify/verify.ts'

/** What a test says of a key; everything has a value that suits most tests. */
export interface TestKeyOptions {
  env?: 'live' | 'test' | undefined
  tenantId?: string | undefined
  scopes?: readonly string[] | undefined
  rateLimits?: readonly RateLimit[] | undefined
  /** Milliseconds since the epoch; never unless given. */
  expiresAt?: number | undefined
}

/** A key that a test keyring has made. */
export interface TestKey {
  /** The key itself, as a customer would present it. */
  key: string
  keyId: string
  tenantId: string
}

/** Stands in for a keyring; made by `createTestKeyring`. */
export interface TestKeyring {
  /** Judges a key as a keyring does. */
  verify(key: string | null | undefined, requirements?: Requirements): Verdict
  /** Makes a key that is valid from here on. */
  issue(options?: TestKeyOptions): TestKey
  /** It is refused from here on, as `revoked_key`. */
  revoke(key: TestKey): void
  /** As if the service had not been heard of for too long: every key is refused as `stale`, until `recover`. */
  lose(): void
  /** Ends what `lose` began. */
  recover(): void
}

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const KEYS_MAX = 1_000_000
const LATE = 60_000

/**
 * A keyring for tests of your own: it stands wherever one is taken, speaks to no service, and judges keys by the very
 * rule that serves in production.
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

function drawKey(head: string): string {
  const random = Array.from(randomBytes(32), byte => alphabet[byte % 62]).join('')
  return head + random + checksumOf(head + random)
}

/** CRC-32 (IEEE) in base62. */
function checksumOf(text: string): string {
  let crc = -1
  for (let at = 0; at < text.length; at++) {
    crc ^= text.charCodeAt(at)
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1
  }
  let rest = (crc ^ -1) >>> 0
  let digits = ''
  for (; digits.length < 6; rest = Math.floor(rest / 62)) digits = alphabet[rest % 62] + digits
  return digits
}
