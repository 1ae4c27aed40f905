import { createHash, randomBytes } from 'node:crypto'
import { crc32 } from 'node:zlib'
import type { PolicyKey } from '@keyrail/contract/feed'

/** Keys as the service issues them, made without the code of the SDK. */

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** Appends the checksum. */
export function withChecksum(body: string): string {
  let rest = crc32(body)
  let digits = ''
  for (; digits.length < 6; rest = Math.floor(rest / 62)) digits = alphabet[rest % 62] + digits
  return body + digits
}

export function drawKey(prefix = 'kr_live'): string {
  const random = Array.from(randomBytes(32), byte => alphabet[byte % 62]).join('')
  return withChecksum(`${prefix}_${random}`)
}

export const lookupHash = (key: string): string => createHash('sha256').update(key).digest('base64')

/** A UUID with a visible number. */
export const id = (number: number): string =>
  `01930c3e-8f5a-7c31-9b0e-${number.toString(16).padStart(12, '0')}`

/** The record of a key in the feed. */
export function policyKey(key: string, number: number, more: Partial<PolicyKey> = {}): PolicyKey {
  return {
    key_id: id(number),
    tenant_id: id(0xa000),
    env: key.includes('_test_') ? 'test' : 'live',
    lookup_hash: lookupHash(key),
    display_prefix: key.slice(0, key.lastIndexOf('_') + 5),
    scopes: [],
    expires_at: null,
    ...more,
  }
}
