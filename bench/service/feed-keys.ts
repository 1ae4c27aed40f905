import { createHash, hash } from 'node:crypto'
import { crc32 } from 'node:zlib'
import type { PolicyKey } from '@keyrail/contract/feed'

/** Keys of the feed, the same in every process. */

const TENANTS = 1_000
const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const limits: NonNullable<PolicyKey['rate_limits']> = [
  { id: 'burst', limit: 100, window_ms: 1_000, algorithm: 'sliding', scope: 'key' },
  { id: 'day', limit: 100_000, window_ms: 86_400_000, algorithm: 'fixed', scope: 'tenant' },
]

/** Every second one expires, in many years; every fourth has key limits. */
export function feedKey(number: number): PolicyKey {
  const key = keyOf(number)
  return {
    key_id: idOf(`key ${number}`),
    tenant_id: idOf(`tenant ${number % TENANTS}`),
    env: 'live',
    lookup_hash: hash('sha256', key, 'base64'),
    display_prefix: key.slice(0, 12),
    scopes: ['orders:read', 'orders:write', 'refunds:read'],
    expires_at: number % 2 ? '2099-01-01T00:00:00.000Z' : null,
    ...(number % 4 === 0 && { rate_limits: limits }),
  }
}

/** With BENCH_IMPORTED=1 all keys come from another system. */
export const isImported = process.env.BENCH_IMPORTED === '1'

/** The whole key: form and checksum are right. */
export function keyOf(number: number): string {
  if (isImported) return `old_${hash('sha256', `bench ${number}`)}`
  const bytes = createHash('sha256').update(`bench ${number}`).digest()
  const body = `kr_live_${Array.from(bytes, byte => alphabet[byte % 62]).join('')}`
  let rest = crc32(body)
  let checksum = ''
  for (; checksum.length < 6; rest = Math.floor(rest / 62)) checksum = alphabet[rest % 62] + checksum
  return body + checksum
}

/** Like a UUID of version 7: random but for its beginning. */
export function idOf(seed: string): string {
  const random = hash('sha256', seed)
  return `01930c3e-8f5a-7${random.slice(0, 3)}-9${random.slice(3, 6)}-${random.slice(6, 18)}`
}
