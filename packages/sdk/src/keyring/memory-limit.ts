import { usableMemory } from '../runtime/usable-memory.ts'

/** The part of the memory that keys may take. The rest is for the API that the process serves. */
const SHARE = 1 / 4
/** What a held key takes, with room to spare for ids other than UUIDs and for scopes and limits that few keys share. */
const KEY_BYTES = 256
/** What names and `meta` of a key take besides, of which `meta` may have 2 KiB. */
const LABEL_BYTES = 1_024
/** A snapshot is built beside the keys that it replaces. */
const STORES = 2
/** Where the runtime does not say how much memory there is: a worker has 128 MiB. */
const UNKNOWN_BYTES = 128 * 1_024 * 1_024

/** How many keys fit into a quarter of the memory that the process may use. */
export function keysInMemory(hasLabels: boolean, bytes: number = usableMemory() ?? UNKNOWN_BYTES): number {
  const each = (KEY_BYTES + (hasLabels ? LABEL_BYTES : 0)) * STORES
  return Math.floor((bytes * SHARE) / each)
}
