import { digestWord } from '../runtime/digest.ts'
import { endOf } from './end.ts'
import { ID_WORDS, KeyIds } from './key-ids.ts'
import type { KeyLabel } from './labels.ts'
import type { Networks } from './networks.ts'
import type { RateLimit } from './rate-limits.ts'
import {
  DIGEST_WORDS,
  END,
  ENV_AND_LIMITS,
  ENV_BITS,
  ENV_MASK,
  envAndLimits,
  LIVE,
  NETWORKS,
  NEXT_FREE,
  RECORD_DOUBLES,
  RECORD_WORDS,
  SCOPES,
  TENANT,
  USED,
} from './record-layout.ts'
import { emptyShared, type Shared } from './shared-list.ts'

/** A key to store. */
export interface StoredKey {
  keyId: string
  tenantId: string
  env: 'live' | 'test'
  /** In the form of `digestOf`. */
  digest: string
  scopes: readonly string[]
  rateLimits: readonly RateLimit[] | undefined
  /** Milliseconds since the epoch; Infinity if the key never expires. */
  expiresAt: number
  /** When the key is too old for its project, likewise. Undefined: never. */
  tooOldAt?: number | undefined
  /** Undefined: those of the tenant. */
  networks?: Networks | undefined
  /** Set if the node asks for names or `meta`. */
  label?: KeyLabel | undefined
}

const FIRST_CAPACITY = 16
/**
 * Unused bytes before the first record. A large ArrayBuffer begins 16 bytes after the start of a page, behind the allocator's
 * header, so that with these 48 every record begins at a cache line. In other allocators these bytes do no harm.
 */
const LEAD_BYTES = 48
/** How many shared values without a record are kept before they are dropped. */
const SHARED_SLACK = 4096
/** Of how many kinds a record has a shared value. */
const SHARED_KINDS = 4
/** A list is large, and a customer may change one again and again: few unused ones are kept. */
const NETWORKS_SLACK = 256

/**
 * The slab: records of a fixed size by slot number. Freed slots are reused. It holds only numbers, so that a million keys are
 * a few objects for the garbage collector. It does not know order or age.
 */
export class Records {
  readonly ids = new KeyIds()
  shared: Shared = emptyShared()
  /** Two views of one ArrayBuffer. */
  #words = new Int32Array(0)
  #doubles = new Float64Array(0)
  #capacity = 0
  /** Slots from here on were never used. */
  #end = 0
  /** The first free slot below `#end`, plus 1; 0 if there is none. Each free slot names the next one. */
  #firstFree = 0
  /** More lists than these are walked through for those that no record has. */
  #networksMost = NETWORKS_SLACK
  size = 0

  /** @returns the slot of the new record */
  add(key: StoredKey, used: number): number {
    const slot = this.#takeSlot()
    this.size++
    const word = slot * RECORD_WORDS
    for (let at = 0; at < DIGEST_WORDS; at++) this.#words[word + at] = digestWord(key.digest, at)
    this.ids.set(slot, key.keyId)
    this.update(slot, key, used)
    return slot
  }

  /** Sets everything except id and digest, by which the record is found. */
  update(slot: number, key: StoredKey, used: number): void {
    const { tenants, scopes, limits, networks } = this.shared
    const word = slot * RECORD_WORDS
    const limitsNumber = key.rateLimits === undefined ? 0 : limits.add(key.rateLimits)
    this.#doubles[slot * RECORD_DOUBLES + END] = endOf(key.expiresAt, key.tooOldAt)
    this.#doubles[slot * RECORD_DOUBLES + USED] = used
    this.#words[word + TENANT] = tenants.add(key.tenantId)
    this.#words[word + SCOPES] = scopes.add(key.scopes)
    this.#words[word + ENV_AND_LIMITS] = envAndLimits(key.env, limitsNumber)
    this.#words[word + NETWORKS] = key.networks === undefined ? 0 : networks.add(key.networks) + 1
    // Rarely true: the cost of a walk through all records is spread over thousands of updates.
    const isFull = this.sharedValues > SHARED_KINDS * this.size + SHARED_SLACK
    if (isFull || networks.values.length > this.#networksMost) this.#dropUnusedShared()
  }

  remove(slot: number): void {
    this.ids.clear(slot)
    const word = slot * RECORD_WORDS
    this.#doubles[slot * RECORD_DOUBLES + USED] = 0
    this.#words[word + ENV_AND_LIMITS] = 0
    this.#words[word + NEXT_FREE] = this.#firstFree
    this.#firstFree = slot + 1
    this.size--
  }

  /** The used slots, in no meaningful order. */
  *slots(): Generator<number> {
    for (let slot = 0; slot < this.#end; slot++) if (this.#isUsed(slot)) yield slot
  }

  /** Unrolled, because every verification calls it. */
  hasDigest(slot: number, digest: string): boolean {
    const words = this.#words
    const word = slot * RECORD_WORDS
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

  /** In the form of `digestOf`. */
  digest(slot: number): string {
    let digest = ''
    for (let at = 0; at < DIGEST_WORDS; at++) {
      const word = this.#words[slot * RECORD_WORDS + at] as number
      digest += String.fromCharCode(word & 0xffff, word >>> 16)
    }
    return digest
  }

  /** A hash of the digest: its first word. */
  digestHash(slot: number): number {
    return this.#words[slot * RECORD_WORDS] as number
  }

  keyId(slot: number): string {
    return this.ids.text(slot)
  }

  tenantId(slot: number): string {
    return this.shared.tenants.get(this.#words[slot * RECORD_WORDS + TENANT] as number)
  }

  scopes(slot: number): readonly string[] {
    return this.shared.scopes.get(this.#words[slot * RECORD_WORDS + SCOPES] as number)
  }

  rateLimits(slot: number): readonly RateLimit[] | undefined {
    const number = (this.#words[slot * RECORD_WORDS + ENV_AND_LIMITS] as number) >>> ENV_BITS
    return number === 0 ? undefined : this.shared.limits.get(number)
  }

  env(slot: number): 'live' | 'test' {
    const word = this.#words[slot * RECORD_WORDS + ENV_AND_LIMITS] as number
    return (word & ENV_MASK) === LIVE ? 'live' : 'test'
  }

  /** The key's own networks; undefined if it has those of its tenant. */
  networks(slot: number): Networks | undefined {
    const number = this.#words[slot * RECORD_WORDS + NETWORKS] as number
    return number === 0 ? undefined : this.shared.networks.get(number - 1)
  }

  /** As `end.ts` writes it. */
  end(slot: number): number {
    return this.#doubles[slot * RECORD_DOUBLES + END] as number
  }

  /** The stamp of the last use; 0 if the slot is free. */
  used(slot: number): number {
    return this.#doubles[slot * RECORD_DOUBLES + USED] as number
  }

  /** Sets the stamp of the last use. */
  touch(slot: number, used: number): void {
    this.#doubles[slot * RECORD_DOUBLES + USED] = used
  }

  /** How many tenant ids, lists of scopes, sets of limits and lists of networks are held. */
  get sharedValues(): number {
    const { tenants, scopes, limits, networks } = this.shared
    return tenants.values.length + scopes.values.length + limits.values.length + networks.values.length
  }

  /** Writes all used records and their ids without gaps. The arrays must have at least `size` elements. */
  dump(words: Int32Array, ids: Int32Array): void {
    let count = 0
    // Copies each run of used slots at once.
    for (let from = 0; from < this.#end; ) {
      let to = from
      while (to < this.#end && this.#isUsed(to)) to++
      words.set(this.#words.subarray(from * RECORD_WORDS, to * RECORD_WORDS), count * RECORD_WORDS)
      ids.set(this.ids.words.subarray(from * ID_WORDS, to * ID_WORDS), count * ID_WORDS)
      count += to - from
      from = to + 1
    }
  }

  /** Ids that are not UUIDs, by the position of their record in a dump. */
  otherIds(): [position: number, id: string][] {
    const { others } = this.ids
    if (others.size === 0) return []
    return Array.from(this.slots(), (slot, position) => ({ position, id: others.get(slot) })).flatMap(
      ({ position, id }) => (id === undefined ? [] : [[position, id]]),
    )
  }

  /** The numbers of own networks, by the position of their record in a dump. */
  ownNetworks(): [position: number, networks: number][] {
    if (this.shared.networks.values.length === 0) return []
    const numbers: [number, number][] = []
    let position = 0
    for (const slot of this.slots()) {
      const number = this.#words[slot * RECORD_WORDS + NETWORKS] as number
      if (number !== 0) numbers.push([position, number - 1])
      position++
    }
    return numbers
  }

  /** Replaces all records by those of a dump, whose keys have no networks yet. */
  restore(words: Int32Array, ids: Int32Array, others: Iterable<readonly [number, string]>, shared: Shared) {
    const count = words.length / RECORD_WORDS
    this.#reserve(count)
    this.#words.set(words)
    this.ids.words.set(ids)
    for (const [slot, id] of others) this.ids.others.set(slot, id)
    this.shared = shared
    this.size = count
    this.#end = count
    this.#firstFree = 0
    for (let slot = 0; slot < count; slot++) this.#words[slot * RECORD_WORDS + NETWORKS] = 0
  }

  /** @param networks their number in `shared.networks` */
  setNetworks(slot: number, networks: number): void {
    this.#words[slot * RECORD_WORDS + NETWORKS] = networks + 1
  }

  #isUsed(slot: number): boolean {
    return this.#words[slot * RECORD_WORDS + ENV_AND_LIMITS] !== 0
  }

  #takeSlot(): number {
    if (this.#firstFree !== 0) {
      const slot = this.#firstFree - 1
      this.#firstFree = this.#words[slot * RECORD_WORDS + NEXT_FREE] as number
      return slot
    }
    if (this.#end === this.#capacity) this.#reserve(Math.max(FIRST_CAPACITY, Math.ceil(this.#end * 1.25)))
    return this.#end++
  }

  /** Moves all records into a slab of this many. */
  #reserve(capacity: number): void {
    const slab = new ArrayBuffer(LEAD_BYTES + capacity * RECORD_WORDS * 4)
    const words = new Int32Array(slab, LEAD_BYTES)
    words.set(this.#words.subarray(0, this.#end * RECORD_WORDS))
    this.#words = words
    this.#doubles = new Float64Array(slab, LEAD_BYTES)
    this.ids.reserve(capacity)
    this.#capacity = capacity
  }

  /** Renumbers the shared values that records use, and drops the others. */
  #dropUnusedShared(): void {
    const words = this.#words
    const { tenants, scopes, limits } = this.shared
    const kept = emptyShared()
    for (const slot of this.slots()) {
      const word = slot * RECORD_WORDS
      const limitsNumber = (words[word + ENV_AND_LIMITS] as number) >>> ENV_BITS
      words[word + TENANT] = kept.tenants.add(tenants.get(words[word + TENANT] as number))
      words[word + SCOPES] = kept.scopes.add(scopes.get(words[word + SCOPES] as number))
      words[word + ENV_AND_LIMITS] = envAndLimits(this.env(slot), kept.limits.add(limits.get(limitsNumber)))
      const own = this.networks(slot)
      words[word + NETWORKS] = own === undefined ? 0 : kept.networks.add(own) + 1
    }
    this.shared = kept
    this.#networksMost = 2 * kept.networks.values.length + NETWORKS_SLACK
  }
}
