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
}

/**
 * Names and `meta` of keys and tenants, for nodes that ask for them. Keeps each tenant once, as long as a key belongs to it.
 */
export class Labels {
  readonly #keys = new Map<number, { tenantId: string; label: KeyLabel | undefined }>()
  readonly #tenants = new Map<string, { label: TenantLabel | undefined; keys: number }>()

  set(slot: number, tenantId: string, label: KeyLabel | undefined): void {
    const former = this.#keys.get(slot)?.tenantId
    this.#tenant(tenantId).keys++
    if (former !== undefined) this.#leave(former)
    this.#keys.set(slot, { tenantId, label })
  }

  clear(slot: number): void {
    const key = this.#keys.get(slot)
    if (key === undefined) return
    this.#keys.delete(slot)
    this.#leave(key.tenantId)
  }

  /** Call it before the keys of the same answer, and `prune` after them. */
  setTenant(tenantId: string, label: TenantLabel): void {
    this.#tenant(tenantId).label = label
  }

  /** Drops those of these tenants to which no key belongs. */
  prune(tenantIds: Iterable<string>): void {
    for (const id of tenantIds) if (this.#tenants.get(id)?.keys === 0) this.#tenants.delete(id)
  }

  get tenants(): number {
    return this.#tenants.size
  }

  of(slot: number): Whose {
    const { tenantId = '', label: key } = this.#keys.get(slot) ?? {}
    const tenant = this.#tenants.get(tenantId)?.label
    return {
      ...(tenant?.externalId !== undefined && { externalId: tenant.externalId }),
      ...(tenant?.name !== undefined && { tenantName: tenant.name }),
      ...(key?.name !== undefined && { keyName: key.name }),
      ...(key?.meta !== undefined && { meta: key.meta }),
      ...(tenant?.meta !== undefined && { tenantMeta: tenant.meta }),
    }
  }

  /** @param slots the used slots, in the order in which their records are saved */
  dump(slots: Iterable<number>): SavedLabels {
    const keys = Array.from(slots, (slot, at) => [at, this.#keys.get(slot)?.label ?? {}] as const)
    const tenants = Array.from(this.#tenants, ([id, { label = {} }]) => [id, label] as const)
    return { keys, tenants }
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
