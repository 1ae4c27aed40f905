import type { Records } from '../store/records.ts'
import { type Refused, refused } from './verdict.ts'

/** About 100 bytes each, so 1 MB at most. */
const KEYS_MAX = 10_000

/** By the `cause` of a tombstone. The tenant of a deleted one is gone, and with it the right to the key. */
const refusalBy: ReadonlyMap<string, Refused> = new Map([
  ['revoked', refused.revoked_key],
  ['expired', refused.expired_key],
  ['deleted', refused.revoked_key],
  ['disabled', refused.disabled_key],
  ['suspended', refused.suspended_tenant],
])

/**
 * Why keys that this node held are held no more, or what the service said of others. The feed names a revoked key only to those who are there, so of keys
 * that ended earlier, or longer ago than so many others, a node knows nothing.
 */
export class EndedKeys {
  /** By digest, oldest first. */
  readonly #refusals = new Map<string, Refused>()
  readonly #keysMax: number

  constructor(keysMax = KEYS_MAX) {
    this.#keysMax = keysMax
  }

  get size(): number {
    return this.#refusals.size
  }

  refusalOf(digest: string): Refused | undefined {
    return this.#refusals.get(digest)
  }

  /**
   * Takes down a record that is about to go. A key whose time was over when the service said so has expired, whatever
   * else happened to it; any other was ended before its time.
   *
   * @param at when the service said so, in milliseconds since the epoch by its clock
   */
  add(records: Records, slot: number, at: number): void {
    this.#set(records.digest(slot), records.expiresAt(slot) > at ? refused.revoked_key : refused.expired_key)
  }

  /** Takes down why a key has ended, as the service says it. Of a cause that is not known here the key is unknown. */
  addCause(digest: string, cause: string): void {
    const refusal = refusalBy.get(cause)
    if (refusal === undefined) this.forget(digest)
    else this.#set(digest, refusal)
  }

  #set(digest: string, refusal: Refused): void {
    this.#refusals.delete(digest)
    this.#refusals.set(digest, refusal)
    if (this.#refusals.size <= this.#keysMax) return
    const [oldest] = this.#refusals.keys()
    if (oldest !== undefined) this.#refusals.delete(oldest)
  }

  addAll(records: Records, at: number): void {
    for (const slot of records.slots()) this.add(records, slot, at)
  }

  /** A key that the service tells of again, as one that has expired and was renewed. */
  forget(digest: string): void {
    this.#refusals.delete(digest)
  }

  clear(): void {
    this.#refusals.clear()
  }
}
