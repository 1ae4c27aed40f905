import type { Store } from '../store/store.ts'

/** How many keys a node holds. */
export interface Room {
  /** Never lowered. */
  maxCachedKeys: number
  maxAutoCachedKeys: number
  /** With it the limit follows the memory: bytes that keys and their labels may take. */
  keyMemory?: number | undefined
}

/** What a held key takes, with room to spare for ids other than UUIDs and for scopes and limits that few keys share. */
export const KEY_BYTES = 256

/** The most keys that the node may ever hold, with labels of the size of those that the store holds. */
export function mostKeys({ maxCachedKeys, maxAutoCachedKeys, keyMemory }: Room, store?: Store): number {
  const most = Math.max(maxCachedKeys, maxAutoCachedKeys)
  const labels = store?.labels?.bytes ?? 0
  if (keyMemory === undefined || store === undefined || labels === 0) return most
  return Math.max(1, Math.min(most, Math.floor(keyMemory / (KEY_BYTES + labels / store.size))))
}

/** How many keys a node holds, and how many it may. */
export interface Held {
  keys: number
  most: number
}

export const holding = (room: Room, store: Store | undefined): Held => ({
  keys: store?.size ?? 0,
  most: mostKeys(room, store),
})

/** Whether a key fits. Raises the limit by a quarter if needed and allowed. */
export function makeRoom(store: Store, keyId: string, room: Room): boolean {
  if (store.size < store.maxKeys || store.hasId(keyId)) return true
  store.maxKeys = Math.max(store.maxKeys, Math.min(mostKeys(room, store), Math.ceil(store.maxKeys * 1.25)))
  return store.size < store.maxKeys
}
