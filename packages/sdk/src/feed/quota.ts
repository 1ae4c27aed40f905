import type { Store } from '../store/store.ts'
import type { ListedTenant } from './listed.ts'

/** How many keys a node may hold. */
export interface KeyQuota {
  /** Never lowered. */
  maxCachedKeys: number
  maxAutoCachedKeys: number
  /** With it the quota follows the memory: bytes that keys and their labels may take. */
  keyMemory?: number | undefined
}

/** What a held key takes, with a margin for ids other than UUIDs and for scopes and limits that few keys share. */
export const KEY_BYTES = 256

/** What the id of a suspended tenant takes. */
const SUSPENDED_BYTES = 128

/** The most keys that the node may ever hold, with labels of the size of those that the store holds. */
export function quotaKeys(quota: KeyQuota, store?: Store): number {
  const { keyMemory } = quota
  const most = quotaTenants(quota)
  if (keyMemory === undefined || store === undefined) return most
  // More keys have more of these.
  const beside = (store.labels?.bytes ?? 0) + store.records.shared.networks.bytes
  const bytes = keyMemory - tenantBytes(store)
  const each = KEY_BYTES + (beside === 0 ? 0 : beside / Math.max(1, store.size))
  return Math.max(1, Math.min(most, Math.floor(bytes / each)))
}

const tenantBytes = ({ suspended, tenantNetworks }: Store): number =>
  suspended.size * SUSPENDED_BYTES + tenantNetworks.bytes

/** The most suspended tenants that the node may know, and the most with networks. The feed names those of its keys. */
export const quotaTenants = ({ maxCachedKeys, maxAutoCachedKeys }: KeyQuota): number =>
  Math.max(maxCachedKeys, maxAutoCachedKeys)

/** Whether a store with these tenants beside its own knows more tenants than the node may. */
export function areTooMany(quota: KeyQuota, store: Store, listed: readonly ListedTenant[] = []): boolean {
  const most = quotaTenants(quota)
  const { suspended, tenantNetworks } = store
  const more = listed.filter(each => each.isSuspended && !suspended.has(each.tenantId))
  const lists = listed.flatMap(({ tenantId, networks }) =>
    networks && tenantNetworks.get(tenantId) === undefined ? [networks] : [],
  )
  const bytes = tenantBytes(store) + lists.reduce((sum, each) => sum + each.bytes, 0)
  return (
    suspended.size + more.length > most ||
    tenantNetworks.size + lists.length > most ||
    (quota.keyMemory !== undefined && bytes > quota.keyMemory)
  )
}

/** How many keys a node holds, and how many it may. */
export interface Held {
  keys: number
  most: number
}

export const holding = (quota: KeyQuota, store: Store | undefined): Held => ({
  keys: store?.size ?? 0,
  most: quotaKeys(quota, store),
})

/**
 * Raises the limit of a full store by a quarter, as far as the quota allows.
 *
 * @returns whether the key fits
 */
export function growFor(store: Store, keyId: string, quota: KeyQuota): boolean {
  if (store.size < store.maxKeys || store.hasId(keyId)) return true
  store.maxKeys = Math.max(store.maxKeys, Math.min(quotaKeys(quota, store), Math.ceil(store.maxKeys * 1.25)))
  return store.size < store.maxKeys
}
