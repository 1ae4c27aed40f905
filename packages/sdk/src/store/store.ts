/** Keys in memory. `records.ts` has 64 bytes for each, and `slot-table.ts` is the index. */

import { digestWord } from '../runtime/digest.ts'
import { Labels, type SavedLabels } from './labels.ts'
import { LeastUsed } from './least-used.ts'
import type { Networks } from './networks.ts'
import { Records, type StoredKey } from './records.ts'
import { freeze, type Shared } from './shared-list.ts'
import { SlotTable } from './slot-table.ts'
import { TenantNetworks } from './tenant-networks.ts'

/** Records as they are saved: without gaps, with the shared values beside them. */
export interface SavedRecords {
  words: Int32Array
  ids: Int32Array
  otherIds: Iterable<readonly [slot: number, id: string]>
  shared: Shared
  uses: number
  /** Ids of suspended tenants. */
  suspended?: readonly string[] | undefined
  /** The number of their list in `shared.networks`, by the position of the key. */
  ownNetworks?: Iterable<readonly [position: number, networks: number]> | undefined
  tenantNetworks?: Iterable<readonly [tenantId: string, networks: Networks]> | undefined
  /** Undefined: whoever saved them did not know. */
  acceptsImported: boolean | undefined
  labels?: SavedLabels | undefined
}

/**
 * The keys that a node holds: a bounded store, found by digest for verification and by key id for changes. No clock and no
 * I/O. When it is full, a new record replaces the least recently used one.
 */
export class Store {
  maxKeys: number
  /** Records dropped for lack of memory since the store was made. Above 0, an unknown key may be valid. */
  evictions = 0
  /** Rises with every change, so that a writer knows whether a saved copy is current. */
  revision = 0
  readonly records = new Records()
  /** Ids of tenants whose keys are refused, also of those without a key here. A plain Set, because each verification reads it. */
  readonly suspended = new Set<string>()
  readonly tenantNetworks = new TenantNetworks()
  /**
   * Whether the project takes keys from elsewhere, so that a text of any form may be one. Undefined: an earlier process did not
   * know, and no answer has said it yet.
   */
  acceptsImported: boolean | undefined = false
  /** Undefined for a node that does not ask for labels. */
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

  /** Tenant ids, scope lists, sets of limits and own networks held, each once. */
  get sharedValues(): number {
    return this.records.sharedValues
  }

  /**
   * The slot of the record with this digest, which counts as a use; -1 if missing. The slot is valid until the next change
   * of the store.
   */
  find(digest: string): number {
    const slot = this.#slotOf(digest)
    if (slot !== -1) this.records.touch(slot, ++this.#uses)
    return slot
  }

  /** The networks from which a key may be used; undefined if it may be used everywhere. */
  networksOf(slot: number): Networks | undefined {
    const own = this.records.networks(slot)
    if (own !== undefined) return own.isEmpty ? undefined : own
    // Where no tenant has networks, no id is read.
    return this.tenantNetworks.size === 0 ? undefined : this.tenantNetworks.get(this.records.tenantId(slot))
  }

  /** The networks that the key has of its own. */
  ownNetworks(keyId: string): Networks | undefined {
    const slot = this.#slotOfId(keyId)
    return slot === -1 ? undefined : this.records.networks(slot)
  }

  hasId(keyId: string): boolean {
    return this.#slotOfId(keyId) !== -1
  }

  /** When the service last confirmed all records, on the caller's clock. */
  get confirmedAt(): number {
    return this.#confirmedAt
  }

  /** A time before the present one has no effect. */
  confirm(at: number): void {
    this.#confirmedAt = Math.max(this.#confirmedAt, at)
  }

  /** Adds or replaces a record. Counts as a use, so that the newest key is not evicted first. */
  upsert(key: StoredKey): void {
    this.revision++
    const byDigest = this.#slotOf(key.digest)
    const byId = this.#slotOfId(key.keyId)
    const used = ++this.#uses
    if (byDigest !== -1 && byDigest === byId) {
      const former = this.labels && this.records.tenantId(byDigest)
      this.records.update(byDigest, key, used)
      this.labels?.set(byDigest, key.tenantId, key.label, former)
      return
    }
    // The id has another digest, or the digest another id: remove both old records, which the feed no longer has.
    if (byDigest !== -1) this.#remove(byDigest)
    if (byId !== -1) this.#remove(byId)
    while (this.size >= this.maxKeys && this.size > 0) this.#evict()
    const slot = this.records.add(key, used)
    this.#byDigest.add(slot)
    this.#byId.add(slot)
    this.labels?.set(slot, key.tenantId, key.label)
  }

  /** Removes the record with this id and the one with this digest, should they differ. */
  remove(keyId: string | undefined, digest: string | undefined): void {
    const byId = keyId === undefined ? -1 : this.#slotOfId(keyId)
    if (byId !== -1) this.#remove(byId)
    const byDigest = digest === undefined ? -1 : this.#slotOf(digest)
    if (byDigest !== -1) this.#remove(byDigest)
  }

  setSuspended(tenantId: string, isSuspended: boolean): void {
    if (this.suspended.has(tenantId) === isSuspended) return
    this.revision++
    if (isSuspended) this.suspended.add(tenantId)
    else this.suspended.delete(tenantId)
  }

  /** @param networks not empty; undefined if the tenant has none */
  setTenantNetworks(tenantId: string, networks: Networks | undefined): void {
    if (this.tenantNetworks.set(tenantId, networks)) this.revision++
  }

  setAcceptsImported(acceptsImported: boolean): void {
    if (this.acceptsImported === acceptsImported) return
    this.revision++
    this.acceptsImported = acceptsImported
  }

  /** Drops every record whose key the other store does not hold. */
  keepOnly(other: Store): void {
    for (const slot of [...this.records.slots()]) {
      if (other.hasId(this.records.keyId(slot))) continue
      this.#remove(slot)
      this.evictions++
    }
  }

  clear(): void {
    for (const slot of [...this.records.slots()]) this.#remove(slot)
    this.suspended.clear()
    this.tenantNetworks.clear()
  }

  /** The highest stamp given to a use. */
  get uses(): number {
    return this.#uses
  }

  /** Fills an empty store with saved records. */
  restore({ words, ids, otherIds, shared, uses, labels, ...rest }: SavedRecords): void {
    const { suspended = [], ownNetworks = [], tenantNetworks = [], acceptsImported } = rest
    this.records.restore(words, ids, otherIds, shared)
    for (const [slot, networks] of ownNetworks) this.records.setNetworks(slot, networks)
    for (const [tenantId, networks] of tenantNetworks) this.tenantNetworks.set(tenantId, networks)
    this.acceptsImported = acceptsImported
    this.#uses = uses
    this.revision++
    for (const tenantId of suspended) this.suspended.add(tenantId)
    this.#byDigest.reserve(this.size)
    this.#byId.reserve(this.size)
    for (let slot = 0; slot < this.size; slot++) {
      this.#byDigest.add(slot)
      this.#byId.add(slot)
    }
    if (this.labels === undefined) return
    if (labels?.blank !== undefined) this.labels.setBlank(labels.blank)
    const keyLabels = new Map(labels?.keys)
    for (let slot = 0; slot < this.size; slot++)
      this.labels.set(slot, this.records.tenantId(slot), freeze(keyLabels.get(slot)))
    for (const [id, label] of labels?.tenants ?? []) this.labels.setTenant(id, freeze(label))
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
    this.labels?.clear(slot, this.records.tenantId(slot))
    this.records.remove(slot)
  }
}
