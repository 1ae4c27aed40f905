import { digestWord } from './digest.ts'
import type { RateLimit } from './rate-limits.ts'

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
}

/** 64 bytes a record, 8 of them spare: all that a verification compares lies in one line of the processor's cache. */
const WORDS = 16
const DOUBLES = 8
const EXPIRES_AT = 4
const USED = 5
const ENV = 14
/** Hash of the key id while the slot is in use, the next free slot + 1 while it is not. */
const ID_HASH = 15

const REFS = 4
const TENANT = 1
const SCOPES = 2
const LIMITS = 3

const FIRST_CAPACITY = 16
/**
 * Left empty in front of the slab. A block of memory so large begins 16 bytes behind a page, after what the allocator
 * notes of it; with these each record begins where a line of the cache does. Elsewhere they do no harm.
 */
const LEAD_BYTES = 48

/** The slab: fixed-size records by slot number, reused through a free list. It knows nothing of order or age. */
export class Records {
  /** The first 8 of the 16 words of a slot are its digest. */
  #words = new Int32Array(0)
  #doubles = new Float64Array(0)
  readonly #refs: unknown[] = []
  #slots = 0
  #free = 0
  size = 0

  add(key: StoredKey, used: number): number {
    const slot = this.#take()
    this.size++
    const word = slot * WORDS
    for (let at = 0; at < 8; at++) this.#words[word + at] = digestWord(key.digest, at)
    this.#words[word + ID_HASH] = idHash(key.keyId)
    this.#refs[slot * REFS] = key.keyId
    this.update(slot, key, used)
    return slot
  }

  /** Everything but the two things a record is found by. */
  update(slot: number, key: StoredKey, used: number): void {
    this.#words[slot * WORDS + ENV] = key.env === 'live' ? 1 : 2
    this.#doubles[slot * DOUBLES + EXPIRES_AT] = key.expiresAt
    this.#doubles[slot * DOUBLES + USED] = used
    this.share(slot, key.tenantId, key.scopes, key.rateLimits)
  }

  /** The parts that records of one tenant or one plan have in common. */
  share(slot: number, tenantId: string, scopes: readonly string[], limits: readonly RateLimit[] | undefined) {
    const ref = slot * REFS
    this.#refs[ref + TENANT] = tenantId
    this.#refs[ref + SCOPES] = scopes
    this.#refs[ref + LIMITS] = limits
  }

  remove(slot: number): void {
    this.#refs.fill(undefined, slot * REFS, slot * REFS + REFS)
    this.#doubles[slot * DOUBLES + USED] = 0
    this.#words[slot * WORDS + ENV] = 0
    this.#words[slot * WORDS + ID_HASH] = this.#free
    this.#free = slot + 1
    this.size--
  }

  /** Slots in use, in no order that means anything. */
  *slots(): Generator<number> {
    for (let slot = 0; slot < this.#slots; slot++) if (this.#words[slot * WORDS + ENV] !== 0) yield slot
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

  digestHash(slot: number): number {
    return this.#words[slot * WORDS] as number
  }

  idHash(slot: number): number {
    return this.#words[slot * WORDS + ID_HASH] as number
  }

  keyId(slot: number): string {
    return this.#refs[slot * REFS] as string
  }

  tenantId(slot: number): string {
    return this.#refs[slot * REFS + TENANT] as string
  }

  scopes(slot: number): readonly string[] {
    return this.#refs[slot * REFS + SCOPES] as readonly string[]
  }

  rateLimits(slot: number): readonly RateLimit[] | undefined {
    return this.#refs[slot * REFS + LIMITS] as readonly RateLimit[] | undefined
  }

  env(slot: number): 'live' | 'test' {
    return this.#words[slot * WORDS + ENV] === 1 ? 'live' : 'test'
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

  #take(): number {
    if (this.#free === 0) {
      if (this.#slots * WORDS === this.#words.length) this.#grow()
      return this.#slots++
    }
    const slot = this.#free - 1
    this.#free = this.#words[slot * WORDS + ID_HASH] as number
    return slot
  }

  #grow(): void {
    const capacity = Math.max(FIRST_CAPACITY, Math.ceil(this.#slots * 1.5))
    const slab = new ArrayBuffer(LEAD_BYTES + capacity * WORDS * 4)
    const words = new Int32Array(slab, LEAD_BYTES)
    words.set(this.#words)
    this.#words = words
    this.#doubles = new Float64Array(slab, LEAD_BYTES)
  }
}

/** FNV-1a. Key ids come from the service, one by one; look-ups by them happen once a change, not once a request. */
export function idHash(keyId: string): number {
  let hash = 0x811c9dc5
  for (let at = 0; at < keyId.length; at++) hash = Math.imul(hash ^ keyId.charCodeAt(at), 0x01000193)
  return hash ^ (hash >>> 15)
}
