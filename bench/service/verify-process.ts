import { createHash, hash } from 'node:crypto'
import { crc32 } from 'node:zlib'
import type { PolicyKey } from '@keyrail/contract/feed'
import { createKeyring, type Keyring } from '../../packages/sdk/src/keyring/keyring.ts'
import type { Requirements } from '../../packages/sdk/src/verify/verify.ts'
import { serveGenerator } from '../harness/generator.ts'

/**
 * One arm of the verification bench, in its own process: a keyring that holds the keys, or only the hash that it must
 * compute. Both use the same keys in the same random order.
 */
export type VerifyPlan = { work: 'verify' | 'networks' | 'hash'; keys: number; seconds: number }
export type VerifyCounts = { ns: number; answer: { keys: string } }

const PROJECT = '01930c3e-8f5a-7c31-9b0e-00000000c000'
const PAGE_KEYS = 5_000
/** Between two looks at the clock. */
const BATCH = 20_000
/** A thousand tenants with a hundred keys each. */
const TENANTS = 1_000
const SCOPES = ['orders:read', 'orders:write', 'refunds:read']
const required = { scopes: ['orders:read'] }
/** Eight ranges, of which the last one has the address. */
const NETWORKS = [
  ...Array.from({ length: 6 }, (_, at) => `198.51.100.${at * 16}/28`),
  '2001:db8::/32',
  '203.0.113.0/24',
]
const fromInside = { ...required, ip: '203.0.113.77' }
const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

await serveGenerator<VerifyPlan, VerifyCounts>(async ({ work, keys: count, seconds }) => {
  const keys = Array.from({ length: count }, (_, number) => makeKey(`bench ${number}`))
  const order = shuffled(count)
  const run = work === 'hash' ? hashing(keys) : await verifying(keys, work === 'networks')
  const deadline = performance.now() + seconds * 1_000
  let done = 0
  let spentMs = 0
  for (let at = 0, now = performance.now(); now < deadline; at = (at + BATCH) % count) {
    const batch = order.subarray(at, Math.min(at + BATCH, count))
    run(batch)
    const after = performance.now()
    spentMs += after - now
    now = after
    done += batch.length
  }
  const answer = { keys: createHash('sha256').update(keys.join()).digest('hex') }
  return { ns: (spentMs * 1e6) / done, answer }
})

type Run = (batch: Uint32Array) => void

function hashing(keys: readonly string[]): Run {
  return batch => {
    let length = 0
    for (const at of batch) length += hash('sha256', keys[at] as string).length
    if (length !== batch.length * 64) throw new Error('a hash is missing')
  }
}

async function verifying(keys: readonly string[], hasNetworks: boolean): Promise<Run> {
  const keyring = createKeyring({
    url: 'https://feed.invalid',
    secretKey: makeKey('secret', 'krsk_live_'),
    project: PROJECT,
    // Beyond 80 % of them the keyring reports that it is nearly full.
    maxCachedKeys: Math.ceil(keys.length * 1.3),
    // The longest there is: the bench measures verification, not polling.
    pollIntervalMs: 59_000,
    cachedTtlMs: 60_000,
    fetch: serveFrom(keys, hasNetworks ? { allowed_cidrs: NETWORKS } : {}),
    // A keyring waits for a failing service; a bench must not.
    onError: ({ message }) => {
      console.error(message)
      process.exit(1)
    },
  })
  await keyring.ready()
  const asked = hasNetworks ? fromInside : required
  checkVerdicts(keyring, keys, asked)
  if (hasNetworks && keyring.verify(keys[0], { ip: '192.0.2.1' }).code !== 'ip_not_allowed')
    throw new Error('networks are not enforced')
  return batch => {
    let valid = 0
    for (const at of batch) if (keyring.verify(keys[at], asked).valid) valid++
    if (valid !== batch.length) throw new Error(`${batch.length - valid} keys were refused`)
  }
}

/** Not timed: each key is known by its id, and every kind of wrong key is refused with its code. */
function checkVerdicts(keyring: Keyring, keys: readonly string[], asked: Requirements): void {
  const codes = (each: (key: string, number: number) => string) => [...new Set(keys.map(each))].join()
  const seen = {
    all: codes((key, number) => {
      const verdict = keyring.verify(key, asked)
      return verdict.valid && verdict.keyId === idOf(number) ? 'valid' : `${verdict.code} ${number}`
    }),
    mistyped: codes(key => keyring.verify(key.slice(0, -1) + (key.endsWith('x') ? 'y' : 'x')).code),
    unknown: codes((_, number) => keyring.verify(makeKey(`unknown ${number}`)).code),
    test: codes((_, number) => keyring.verify(makeKey(`test ${number}`, 'kr_test_')).code),
    scope: codes(key => keyring.verify(key, { ...asked, scopes: ['admin'] }).code),
  }
  const right = {
    all: 'valid',
    mistyped: 'malformed_key',
    unknown: 'unknown_key',
    test: 'wrong_env',
    scope: 'insufficient_scope',
  }
  if (JSON.stringify(seen) !== JSON.stringify(right))
    throw new Error(`wrong verdicts: ${JSON.stringify(seen)}`)
}

/** A feed of these keys in pages, in the service's format. Every second key expires, next year. */
function serveFrom(keys: readonly string[], more: Partial<PolicyKey>): typeof fetch {
  const expiresAt = new Date(Date.now() + 365 * 86_400_000).toISOString()
  return async input => {
    const from = Number(new URL(String(input)).searchParams.get('cursor') ?? 0)
    const page = keys.slice(from, from + PAGE_KEYS).map((key, at): PolicyKey => {
      const number = from + at
      return {
        key_id: idOf(number),
        tenant_id: idOf(0xa0000000 + (number % TENANTS)),
        env: 'live',
        lookup_hash: hash('sha256', key, 'base64'),
        display_prefix: key.slice(0, 12),
        scopes: SCOPES,
        expires_at: number % 2 ? expiresAt : null,
        ...more,
      }
    })
    const next = from + PAGE_KEYS
    return Response.json({
      object: 'policy_snapshot',
      workspace_id: PROJECT,
      project_id: PROJECT,
      env: 'live',
      version: 1,
      project_deleted: false,
      generated_at: new Date().toISOString(),
      keys: page,
      next_cursor: next < keys.length ? String(next) : null,
    })
  }
}

/** All numbers below `count`, in a random order that is the same in every process. */
function shuffled(count: number): Uint32Array {
  const order = Uint32Array.from({ length: count }, (_, at) => at)
  let state = 1
  for (let last = count - 1; last > 0; last--) {
    // The generator of Park and Miller.
    state = (state * 48_271) % 2_147_483_647
    const other = state % (last + 1)
    const moved = order[last] as number
    order[last] = order[other] as number
    order[other] = moved
  }
  return order
}

function idOf(number: number): string {
  return `01930c3e-8f5a-7c31-9b0e-${number.toString(16).padStart(12, '0')}`
}

/** The same key for the same seed, in every process. */
function makeKey(seed: string, prefix = 'kr_live_'): string {
  const bytes = createHash('sha256').update(seed).digest()
  const body = prefix + Array.from(bytes, byte => alphabet[byte % 62]).join('')
  let rest = crc32(body)
  let checksum = ''
  for (; checksum.length < 6; rest = Math.floor(rest / 62)) checksum = alphabet[rest % 62] + checksum
  // V8 keeps a concatenated text as a tree until the first read; a text from a socket is flat.
  return Buffer.from(body + checksum).toString('latin1')
}
