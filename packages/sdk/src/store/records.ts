import { digestWord } from '../runtime/digest.ts'
import { ID_WORDS, KeyIds } from './key-ids.ts'
import type { KeyLabel } from './labels.ts'
import type { RateLimit } from './rate-limits.ts'
import { SharedList } from './shared-list.ts'

/** A key as the store takes it. `expiresAt` is in milliseconds since the epoch, Infinity where it never expires. */
export interface StoredKey {
  keyId: string
  tenantId: string
  env: 'live' | 'test'
  /** As `digestOf` gives it. */
  digest: string
  scopes: readonly string[]
  rateLimits: readonly RateLimit[] | undefined
  expiresAt: number
  /** The vendor's own words, where the node asks for them. */
  label?: KeyLabel | undefined
}

/** 64 bytes a record: all that a verification compares lies in one line of the processor's cache. */
export const RECORD_WORDS = 16
const WORDS = RECORD_WORDS
const DOUBLES = 8
/** The first 8 of the 16 words are the digest. Then two doubles, which are words 8 to 11. */
const EXPIRES_AT = 4
const USED = 5
const TENANT = 12
const SCOPES = 13
/** The environment in the two lowest bits, 0 where the slot is free; above them the number of the limits. */
const ENV_AND_LIMITS = 14
/** The next free slot + 1 while the slot is not in use. */
const NEXT_FREE = 15

const FIRST_CAPACITY = 16
/**
 * Left empty in front of the slab. A block of memory so large begins 16 bytes behind a page, after what the allocator
 * notes of it; with these each record begins where a line of the cache does. Elsewhere they do no harm.
 */
const LEAD_BYTES = 48
/** Shared values may outlive their records by this many before they are gathered anew. */
const SHARED_SLACK = 4096

/** What records of one tenant or one plan have in common. */
export interface Shared {
  tenants: SharedList<string>
  scopes: SharedList<readonly string[]>
  /** Number 0 is that of no limits. */
  limits: SharedList<readonly RateLimit[]>
}

/**
 * The slab: fixed-size records by slot number, reused through a free list. It holds numbers only, so that a million
 * keys are a few objects to the garbage collector. It knows nothing of order or age.
 */
export class Records {
  readonly ids = new KeyIds()
  shared: Shared = emptyShared()
  #words = new Int32Array(0)
  #doubles = new Float64Array(0)
  #capacity = 0
  #slots = 0
  #free = 0
  size = 0

  add(key: StoredKey, used: number): number {
    const slot = this.#take()
    this.size++
    const word = slot * WORDS
    for (let at = 0; at < 8; at++) this.#words[word + at] = digestWord(key.digest, at)
    this.ids.set(slot, key.keyId)
    this.update(slot, key, used)
    return slot
  }

  /** Everything but the two things a record is found by. */
  update(slot: number, key: StoredKey, used: number): void {
    this.#doubles[slot * DOUBLES + EXPIRES_AT] = key.expiresAt
    this.#doubles[slot * DOUBLES + USED] = used
    this.#share(slot, key)
    if (this.sharedValues > 3 * this.size + SHARED_SLACK) this.#gatherShared()
  }

  /** Takes the place of everything: records without a gap between them, as they were written down. */
  restore(words: Int32Array, ids: Int32Array, others: Iterable<readonly [number, string]>, shared: Shared) {
    const count = words.length / WORDS
    this.#reserve(count)
    this.#words.set(words)
    this.ids.words.set(ids)
    for (const [slot, id] of others) this.ids.others.set(slot, id)
    this.shared = shared
    this.size = count
    this.#slots = count
    this.#free = 0
  }

  /** Writes all records down, without a gap between them. */
  dump(words: Int32Array, ids: Int32Array): void {
    let count = 0
    for (let from = 0; from < this.#slots; ) {
      let to = from
      while (to < this.#slots && this.#isUsed(to)) to++
      words.set(this.#words.subarray(from * WORDS, to * WORDS), count * WORDS)
      ids.set(this.ids.words.subarray(from * ID_WORDS, to * ID_WORDS), count * ID_WORDS)
      count += to - from
      from = to + 1
    }
  }

  /** Ids that are no UUID, by the slot that their record has once it is written down. */
  otherIds(): [slot: number, id: string][] {
    const { others } = this.ids
    if (others.size === 0) return []
    return Array.from(this.slots(), (slot, number): [number, string | undefined] => [
      number,
      others.get(slot),
    ]).filter((entry): entry is [number, string] => entry[1] !== undefined)
  }

  remove(slot: number): void {
    this.ids.clear(slot)
    const word = slot * WORDS
    this.#doubles[slot * DOUBLES + USED] = 0
    this.#words[word + ENV_AND_LIMITS] = 0
    this.#words[word + NEXT_FREE] = this.#free
    this.#free = slot + 1
    this.size--
  }

  /** Slots in use, in no order that means anything. */
  *slots(): Generator<number> {
    for (let slot = 0; slot < this.#slots; slot++) if (this.#isUsed(slot)) yield slot
  }

  hasDigest(slot: number, digest: string): boolean {
    const words = this.#words
    const word = slot * WORDS
    return (
      words[word] === digestWord(digest, 0) &&
      words[word + 1] === digestWord(digest, 1) &&
      words[word + 2] === digestWord(digest, 2) &&
      words[word + 3] === digestWord(digest, 3) &&
      words[word + 4] === digestWord(digest, 4) &&
      words[word + 5] === digestWord(digest, 5) &&
      words[word + 6] === digestWord(digest, 6) &&
      words[word + 7] === digestWord(digest, 7)
    )
  }

  /** As `digestOf` gives it. */
  digest(slot: number): string {
    let digest = ''
    for (let at = 0; at < 8; at++) {
      const word = this.#words[slot * WORDS + at] as number
      digest += String.fromCharCode(word & 0xffff, word >>> 16)
    }
    return digest
  }

  digestHash(slot: number): number {
    return this.#words[slot * WORDS] as number
  }

  keyId(slot: number): string {
    return this.ids.text(slot)
  }

  tenantId(slot: number): string {
    return this.shared.tenants.get(this.#words[slot * WORDS + TENANT] as number)
  }

  scopes(slot: number): readonly string[] {
    return this.shared.scopes.get(this.#words[slot * WORDS + SCOPES] as number)
  }

  rateLimits(slot: number): readonly RateLimit[] | undefined {
    const number = (this.#words[slot * WORDS + ENV_AND_LIMITS] as number) >>> 2
    return number === 0 ? undefined : this.shared.limits.get(number)
  }

  env(slot: number): 'live' | 'test' {
    return ((this.#words[slot * WORDS + ENV_AND_LIMITS] as number) & 3) === 1 ? 'live' : 'test'
  }

  expiresAt(slot: number): number {
    return this.#doubles[slot * DOUBLES + EXPIRES_AT] as number
  }

  used(slot: number): number {
    return this.#doubles[slot * DOUBLES + USED] as number
  }

  touch(slot: number, used: number): void {
    this.#doubles[slot * DOUBLES + USED] = used
  }

  /** Tenant ids, scope lists and sets of limits held, each once. */
  get sharedValues(): number {
    const { tenants, scopes, limits } = this.shared
    return tenants.values.length + scopes.values.length + limits.values.length
  }

  #share(slot: number, key: Pick<StoredKey, 'env' | 'tenantId' | 'scopes' | 'rateLimits'>): void {
    const { tenants, scopes, limits } = this.shared
    const word = slot * WORDS
    const number = key.rateLimits === undefined ? 0 : limits.add(key.rateLimits)
    this.#words[word + TENANT] = tenants.add(key.tenantId)
    this.#words[word + SCOPES] = scopes.add(key.scopes)
    this.#words[word + ENV_AND_LIMITS] = (number << 2) | (key.env === 'live' ? 1 : 2)
  }

  /** Forgets the shared values that no record refers to any more. */
  #gatherShared(): void {
    const former = this.shared
    const next = emptyShared()
    for (const slot of this.slots()) {
      this.shared = former
      const kept = {
        env: this.env(slot),
        tenantId: this.tenantId(slot),
        scopes: this.scopes(slot),
        rateLimits: this.rateLimits(slot),
      }
      this.shared = next
      this.#share(slot, kept)
    }
    this.shared = next
  }

  #isUsed(slot: number): boolean {
    return this.#words[slot * WORDS + ENV_AND_LIMITS] !== 0
  }

  #take(): number {
    if (this.#free === 0) {
      if (this.#slots === this.#capacity)
        this.#reserve(Math.max(FIRST_CAPACITY, Math.ceil(this.#slots * 1.25)))
      return this.#slots++
    }
    const slot = this.#free - 1
    this.#free = this.#words[slot * WORDS + NEXT_FREE] as number
    return slot
  }

  #reserve(capacity: number): void {
    const slab = new ArrayBuffer(LEAD_BYTES + capacity * WORDS * 4)
    const words = new Int32Array(slab, LEAD_BYTES)
    words.set(this.#words.subarray(0, this.#slots * WORDS))
    this.#words = words
    this.#doubles = new Float64Array(slab, LEAD_BYTES)
    this.ids.reserve(capacity)
    this.#capacity = capacity
  }
}

export function emptyShared(): Shared {
  const limits = new SharedList<readonly RateLimit[]>()
  limits.add([])
  return { tenants: new SharedList(), scopes: new SharedList(), limits }
}

/** Whether the words of a record that was written down refer to what there is, in an environment that there is. */
export function isSound(words: Int32Array, slot: number, { tenants, scopes, limits }: Shared): boolean {
  const word = slot * WORDS
  const env = (words[word + ENV_AND_LIMITS] as number) & 3
  return (
    (env === 1 || env === 2) &&
    (words[word + TENANT] as number) >>> 0 < tenants.values.length &&
    (words[word + SCOPES] as number) >>> 0 < scopes.values.length &&
    (words[word + ENV_AND_LIMITS] as number) >>> 2 < limits.values.length
  )
}
