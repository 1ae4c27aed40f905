import { digestWord } from '../runtime/digest.ts'
import { Labels, type SavedLabels } from './labels.ts'
import { LeastUsed } from './least-used.ts'
import { Records, type Shared, type StoredKey } from './records.ts'
import { freeze } from './shared-list.ts'
import { SlotTable } from './slot-table.ts'

/** Records as they were written down: without a gap, the shared values beside them. */
export interface SavedRecords {
  words: Int32Array
  ids: Int32Array
  otherIds: Iterable<readonly [slot: number, id: string]>
  shared: Shared
  uses: number
  labels?: SavedLabels | undefined
}

/**
 * What a node knows: a bounded store of policy keys, found by digest at verification and by key id when a
 * change arrives. Pure: no clock and no I/O. The least recently looked-up record goes when a new one finds
 * no room.
 */
export class Store {
  maxKeys: number
  /** Records dropped for want of room since this store was made. Above 0 an unknown key may be a valid one. */
  evictions = 0
  /** Rises with every change, so that whoever has written the store down knows whether it is still the same. */
  revision = 0
  readonly records = new Records()
  /** Whose keys they are; undefined for a node that does not ask. */
  readonly labels: Labels | undefined
  readonly #byDigest = new SlotTable(slot => this.records.digestHash(slot))
  readonly #byId = new SlotTable(slot => this.records.ids.hash(slot))
  readonly #leastUsed = new LeastUsed(
    () => this.records.slots(),
    slot => this.records.used(slot),
  )
  #confirmedAt = Number.NEGATIVE_INFINITY
  #uses = 0

  constructor(maxKeys: number, hasLabels = false) {
    this.maxKeys = maxKeys
    this.labels = hasLabels ? new Labels() : undefined
  }

  get size(): number {
    return this.records.size
  }

  /** Tenant ids, scope lists and sets of limits held, each once. */
  get sharedValues(): number {
    return this.records.sharedValues
  }

  /**
   * Slot of the record with this digest, which counts as used now; -1 if there is none. A slot is good until
   * the store is next changed.
   */
  find(digest: string): number {
    const slot = this.#slotOf(digest)
    if (slot !== -1) this.records.touch(slot, ++this.#uses)
    return slot
  }

  hasId(keyId: string): boolean {
    return this.#slotOfId(keyId) !== -1
  }

  /** When all that is held was last known to be true, on the clock of the caller. */
  get confirmedAt(): number {
    return this.#confirmedAt
  }

  /** Going back has no effect. */
  confirm(at: number): void {
    this.#confirmedAt = Math.max(this.#confirmedAt, at)
  }

  /** Adds or replaces the record of a key. Counts as a use, so the newest key is not the first to go. */
  upsert(key: StoredKey): void {
    this.revision++
    const byDigest = this.#slotOf(key.digest)
    const byId = this.#slotOfId(key.keyId)
    const used = ++this.#uses
    if (byDigest !== -1 && byDigest === byId) {
      this.records.update(byDigest, key, used)
      this.labels?.set(byDigest, key.tenantId, key.label)
      return
    }
    // An id with another digest, or the other way round: no record may be left that the feed no longer names.
    if (byDigest !== -1) this.#remove(byDigest)
    if (byId !== -1) this.#remove(byId)
    while (this.size >= this.maxKeys && this.size > 0) this.#evict()
    const slot = this.records.add(key, used)
    this.#byDigest.add(slot)
    this.#byId.add(slot)
    this.labels?.set(slot, key.tenantId, key.label)
  }

  /** Removes what goes by this id and what goes by this digest; both, should they ever differ. */
  remove(keyId: string | undefined, digest: string | undefined): void {
    const byId = keyId === undefined ? -1 : this.#slotOfId(keyId)
    if (byId !== -1) this.#remove(byId)
    const byDigest = digest === undefined ? -1 : this.#slotOf(digest)
    if (byDigest !== -1) this.#remove(byDigest)
  }

  /** Drops every record whose key another store does not hold. */
  keepOnly(other: Store): void {
    for (const slot of [...this.records.slots()]) {
      if (other.hasId(this.records.keyId(slot))) continue
      this.#remove(slot)
      this.evictions++
    }
  }

  clear(): void {
    for (const slot of [...this.records.slots()]) this.#remove(slot)
  }

  /** The highest stamp given for a use. */
  get uses(): number {
    return this.#uses
  }

  /** Fills an empty store with records as they were written down. */
  restore({ words, ids, otherIds, shared, uses, labels }: SavedRecords): void {
    this.records.restore(words, ids, otherIds, shared)
    this.#uses = uses
    this.revision++
    this.#byDigest.reserve(this.size)
    this.#byId.reserve(this.size)
    for (let slot = 0; slot < this.size; slot++) {
      this.#byDigest.add(slot)
      this.#byId.add(slot)
    }
    if (this.labels === undefined) return
    const told = new Map(labels?.keys)
    for (let slot = 0; slot < this.size; slot++)
      this.labels.set(slot, this.records.tenantId(slot), freeze(told.get(slot)))
    for (const [id, label] of labels?.tenants ?? []) this.labels.tell(id, freeze(label))
  }

  #slotOf(digest: string): number {
    const hash = digestWord(digest, 0)
    const { cells, mask } = this.#byDigest
    const { records } = this
    for (let at = hash & mask; ; at = (at + 1) & mask) {
      const slot = (cells[at] as number) - 1
      if (slot === -1) return -1
      if (records.hasDigest(slot, digest)) return slot
    }
  }

  #slotOfId(keyId: string): number {
    const { cells, mask } = this.#byId
    const { ids } = this.records
    for (let at = ids.seek(keyId) & mask; ; at = (at + 1) & mask) {
      const slot = (cells[at] as number) - 1
      if (slot === -1 || ids.isSought(slot)) return slot
    }
  }

  #evict(): void {
    const slot = this.#leastUsed.take()
    this.#remove(slot)
    this.evictions++
  }

  #remove(slot: number): void {
    this.revision++
    this.#byDigest.remove(slot)
    this.#byId.remove(slot)
    this.labels?.clear(slot)
    this.records.remove(slot)
  }
}
