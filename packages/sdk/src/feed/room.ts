import type { Store } from '../store/store.ts'

/** How many keys a node may hold: to begin with, and after raising that by itself. */
export interface Room {
  maxCachedKeys: number
  maxAutoCachedKeys: number
}

/** Whether a key fits, after raising the bound by a quarter where that is needed and allowed. */
export function makeRoom(store: Store, keyId: string, { maxCachedKeys, maxAutoCachedKeys }: Room): boolean {
  if (store.size < store.maxKeys || store.hasId(keyId)) return true
  const most = Math.max(maxCachedKeys, maxAutoCachedKeys)
  store.maxKeys = Math.max(store.maxKeys, Math.min(most, Math.ceil(store.maxKeys * 1.25)))
  return store.size < store.maxKeys
}
