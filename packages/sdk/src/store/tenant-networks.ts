import type { Networks } from './networks.ts'

/** What the id of a tenant takes in memory beside its list. */
const TENANT_BYTES = 128

/** The networks of tenants, also of those without a key in the store. A tenant without a list is not here. */
export class TenantNetworks {
  readonly #lists = new Map<string, Networks>()
  /** What the lists take in memory, estimated. */
  bytes = 0

  get size(): number {
    return this.#lists.size
  }

  get(tenantId: string): Networks | undefined {
    return this.#lists.get(tenantId)
  }

  /** @returns whether that changed anything */
  set(tenantId: string, networks: Networks | undefined): boolean {
    const former = this.#lists.get(tenantId)
    if (JSON.stringify(former) === JSON.stringify(networks)) return false
    if (former !== undefined) this.bytes -= sizeOf(former)
    if (networks === undefined) this.#lists.delete(tenantId)
    else {
      this.#lists.set(tenantId, networks)
      this.bytes += sizeOf(networks)
    }
    return true
  }

  clear(): void {
    this.#lists.clear()
    this.bytes = 0
  }

  [Symbol.iterator](): IterableIterator<[tenantId: string, networks: Networks]> {
    return this.#lists.entries()
  }
}

const sizeOf = ({ bytes }: Networks): number => TENANT_BYTES + bytes
