/** The vendor's `meta` of a key or tenant: frozen JSON. */
export type Meta = Readonly<Record<string, unknown>>

export interface KeyLabel {
  name?: string | null
  meta?: Meta | null
}

export interface TenantLabel {
  externalId?: string
  name?: string | null
  meta?: Meta | null
}

/** The labels in a verdict. */
export interface Whose {
  externalId?: string
  tenantName?: string | null
  keyName?: string | null
  meta?: Meta | null
  tenantMeta?: Meta | null
}

/** Labels as they are saved. Keys are named by the position of their record. */
export interface SavedLabels {
  keys: readonly (readonly [number, KeyLabel])[]
  tenants: readonly (readonly [string, TenantLabel])[]
  /** The label of every key that is not in `keys`. Absent: these keys have no label. */
  blank?: KeyLabel | undefined
}

/** The labels of keys without a name and with an empty `meta`, one for each set of fields that the feed gives. */
const none: Meta = Object.freeze({})
const blanks: readonly KeyLabel[] = [{ meta: none }, { name: null }, { name: null, meta: none }].map(
  Object.freeze,
)

const isBlank = ({ name = null, meta = none }: KeyLabel): boolean =>
  name === null && meta !== null && Object.keys(meta).length === 0

/**
 * Ids and names of tenants, and names and `meta` of keys, for nodes that ask for them. Keeps each tenant once, as long as a key
 * belongs to it. A key without name and `meta` takes no memory.
 */
export class Labels {
  readonly #keys = new Map<number, { label: KeyLabel; bytes: number }>()
  readonly #tenants = new Map<string, { label: TenantLabel | undefined; keys: number }>()
  #blank: KeyLabel | undefined
  #keyBytes = 0

  /** @param former the tenant that the slot's key had before; undefined for a new key */
  set(slot: number, tenantId: string, label: KeyLabel | undefined, former?: string): void {
    this.#tenant(tenantId).keys++
    if (former !== undefined) this.#leave(former)
    this.#drop(slot)
    if (label === undefined) return
    if (isBlank(label)) {
      this.setBlank(label)
      return
    }
    const bytes = sizeOf(label)
    this.#keyBytes += bytes
    this.#keys.set(slot, { label, bytes })
  }

  clear(slot: number, tenantId: string): void {
    this.#drop(slot)
    this.#leave(tenantId)
  }

  /** Call it before the keys of the same answer, and `prune` after them. */
  setTenant(tenantId: string, label: TenantLabel): void {
    this.#tenant(tenantId).label = label
  }

  /** Drops every named tenant to which no key belongs. */
  prune(tenantIds: Iterable<string>): void {
    for (const id of tenantIds) if (this.#tenants.get(id)?.keys === 0) this.#tenants.delete(id)
  }

  get tenants(): number {
    return this.#tenants.size
  }

  /** What the labels take in memory, in bytes, estimated. */
  get bytes(): number {
    return this.#keyBytes + this.#tenants.size * TENANT_BYTES
  }

  /** Adds the labels of a key to its verdict. */
  add(verdict: Whose & { tenantId: string }, slot: number): void {
    const tenant = this.#tenants.get(verdict.tenantId)?.label
    const key = this.#keys.get(slot)?.label ?? this.#blank
    if (tenant?.externalId !== undefined) verdict.externalId = tenant.externalId
    if (key?.meta !== undefined) verdict.meta = key.meta
    if (tenant?.name !== undefined) verdict.tenantName = tenant.name
    if (key?.name !== undefined) verdict.keyName = key.name
    if (tenant?.meta !== undefined) verdict.tenantMeta = tenant.meta
  }

  /** @param slots the used slots, in the order in which their records are saved */
  dump(slots: Iterable<number>): SavedLabels {
    const keys: [number, KeyLabel][] = []
    let at = 0
    for (const slot of slots) {
      const key = this.#keys.get(slot)
      if (key !== undefined) keys.push([at, key.label])
      at++
    }
    const tenants = Array.from(this.#tenants, ([id, { label = {} }]) => [id, label] as const)
    return { keys, tenants, blank: this.#blank }
  }

  /** Sets the label of all keys without name and `meta`: the feed gives the same fields for each key. */
  setBlank({ name, meta }: KeyLabel): void {
    this.#blank = blanks.find(
      one => 'name' in one === (name !== undefined) && 'meta' in one === (meta !== undefined),
    )
  }

  #drop(slot: number): void {
    this.#keyBytes -= this.#keys.get(slot)?.bytes ?? 0
    this.#keys.delete(slot)
  }

  #tenant(id: string) {
    const known = this.#tenants.get(id)
    if (known !== undefined) return known
    const tenant = { label: undefined as TenantLabel | undefined, keys: 0 }
    this.#tenants.set(id, tenant)
    return tenant
  }

  #leave(tenantId: string): void {
    const tenant = this.#tenants.get(tenantId)
    if (tenant !== undefined && --tenant.keys === 0) this.#tenants.delete(tenantId)
  }
}

/** An entry of a tenant with an external id, or of a key without its text. */
const TENANT_BYTES = 320
const KEY_BYTES = 160

/** What the label of a key takes, in bytes. Parsed JSON takes some four times the memory of its text. */
const sizeOf = (label: KeyLabel): number => KEY_BYTES + 4 * JSON.stringify(label).length
