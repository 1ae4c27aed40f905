import { usableMemory } from '../runtime/usable-memory.ts'

/** The part of the memory that keys may take. The rest is for the API that the process serves. */
const SHARE = 1 / 4
/** A snapshot is built beside the keys that it replaces. */
const STORES = 2
/** Where the runtime does not say how much memory there is: a worker has 128 MiB. */
const UNKNOWN_BYTES = 128 * 1_024 * 1_024

/** The bytes that one store of keys may take. */
export const keyMemory = (bytes: number = usableMemory() ?? UNKNOWN_BYTES): number => (bytes * SHARE) / STORES
