import type { Store } from '../store/store.ts'

/** How many keys a node may hold: at first, and after raising the limit by itself. */
export interface Room {
  maxCachedKeys: number
  maxAutoCachedKeys: number
}

/** The most keys that the node may ever hold. */
export const mostKeys = ({ maxCachedKeys, maxAutoCachedKeys }: Room): number =>
  Math.max(maxCachedKeys, maxAutoCachedKeys)

/** Whether a key fits. Raises the limit by a quarter if needed and allowed. */
export function makeRoom(store: Store, keyId: string, room: Room): boolean {
  if (store.size < store.maxKeys || store.hasId(keyId)) return true
  store.maxKeys = Math.max(store.maxKeys, Math.min(mostKeys(room), Math.ceil(store.maxKeys * 1.25)))
  return store.size < store.maxKeys
}
