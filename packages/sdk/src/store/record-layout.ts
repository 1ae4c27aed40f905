import type { Shared } from './shared-list.ts'

/**
 * Words of 32 bits in a record. These 64 bytes are one line of the processor's cache, which is all that a verification reads:
 *
 *     word 0–7    digest
 *     word 8–9    end (`end.ts`), as a double
 *     word 10–11  stamp of the last use, as a double; 0 if the slot is free
 *     word 12     number of the tenant id in `shared.tenants`
 *     word 13     number of the scopes in `shared.scopes`
 *     word 14     environment in bits 0–1 (0: the slot is free), number of the limits in `shared.limits` above them
 *     word 15     number of the networks in `shared.networks` + 1, or 0 if the key has none of its own;
 *                 if the slot is free: the next free slot + 1, or 0
 *
 * The disk snapshot holds the same bytes, so another layout needs another format number in `disk/snapshot-file.ts`. Word 15 means
 * nothing there: a header names the networks by position.
 */
export const RECORD_WORDS = 16
export const RECORD_DOUBLES = RECORD_WORDS / 2
export const DIGEST_WORDS = 8
/** In doubles from the start of the record. */
export const END = 4
export const USED = 5
/** In words from the start of the record. */
export const TENANT = 12
export const SCOPES = 13
export const ENV_AND_LIMITS = 14
export const NETWORKS = 15
export const NEXT_FREE = 15

export const LIVE = 1
const TEST = 2
export const ENV_BITS = 2
export const ENV_MASK = 3
export const envAndLimits = (env: 'live' | 'test', limits: number): number =>
  (limits << ENV_BITS) | (env === 'live' ? LIVE : TEST)

/** Whether a dumped record has a valid environment, and numbers only of existing shared values. */
export function isSound(words: Int32Array, position: number, { tenants, scopes, limits }: Shared): boolean {
  const word = position * RECORD_WORDS
  const env = (words[word + ENV_AND_LIMITS] as number) & ENV_MASK
  return (
    (env === LIVE || env === TEST) &&
    (words[word + TENANT] as number) >>> 0 < tenants.values.length &&
    (words[word + SCOPES] as number) >>> 0 < scopes.values.length &&
    (words[word + ENV_AND_LIMITS] as number) >>> ENV_BITS < limits.values.length
  )
}
