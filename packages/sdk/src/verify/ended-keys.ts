import { refusalsByCause } from '@keyrail/contract/verdicts'
import type { Records } from '../store/records.ts'
import { type Refused, refusalAfter, refused } from './verdict.ts'

/** About 100 bytes each, so 1 MB at most. */
const KEYS_MAX = 10_000

/** By the `cause` of a tombstone. */
export const refusalBy: ReadonlyMap<string, Refused> = new Map(
  Object.entries(refusalsByCause).map(([cause, code]) => [cause, refused[code]]),
)

/**
 * Why keys have ended: those that this node held, and others whose cause the service gave. The feed names a revoked key only to
 * nodes that were running then. A node knows nothing about keys that ended earlier, or before the last `KEYS_MAX`.
 */
export class EndedKeys {
  /** By digest, oldest first. */
  readonly #refusals = new Map<string, Refused>()
  /** Those of the environment test. */
  readonly #ofTest = new Set<string>()
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

  /** The environment of an ended key; undefined if nothing is known of the key. */
  envOf(digest: string): 'live' | 'test' | undefined {
    if (this.#ofTest.has(digest)) return 'test'
    return this.#refusals.has(digest) ? 'live' : undefined
  }

  /**
   * Records a key that is about to be removed. If it was past its end at that time, that is why; otherwise it was revoked.
   *
   * @param at when the service ended it, in milliseconds since the epoch by the service's clock
   */
  add(records: Records, slot: number, at: number): void {
    const end = records.end(slot)
    const refusal = end > at ? refused.revoked_key : refusalAfter(end)
    this.#set(records.digest(slot), refusal, records.env(slot))
  }

  /**
   * Records the cause that the service gave. With an unknown cause, the key is just unknown.
   *
   * @param env of the key, if it is held
   */
  addCause(digest: string, cause: string, env?: 'live' | 'test'): void {
    const refusal = refusalBy.get(cause)
    if (refusal === undefined) this.forget(digest)
    else this.#set(digest, refusal, env ?? this.envOf(digest))
  }

  #set(digest: string, refusal: Refused, env: 'live' | 'test' | undefined): void {
    this.forget(digest)
    this.#refusals.set(digest, refusal)
    if (env === 'test') this.#ofTest.add(digest)
    if (this.#refusals.size <= this.#keysMax) return
    const [oldest] = this.#refusals.keys()
    if (oldest !== undefined) this.forget(oldest)
  }

  addAll(records: Records, at: number): void {
    for (const slot of records.slots()) this.add(records, slot, at)
  }

  /** The service sends the key again, such as an expired one that was renewed. */
  forget(digest: string): void {
    this.#refusals.delete(digest)
    this.#ofTest.delete(digest)
  }

  clear(): void {
    this.#refusals.clear()
    this.#ofTest.clear()
  }
}
