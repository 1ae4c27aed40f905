import assert from 'node:assert/strict'
import { decodeSnapshot, type Loaded } from '../src/disk/snapshot-file.ts'
import type { Scope } from '../src/feed/record.ts'
import { digestOf } from '../src/runtime/digest.ts'
import type { StoredKey } from '../src/store/records.ts'
import { Store } from '../src/store/store.ts'
import { id } from './keys.ts'

/** Stores of test keys, and what reads back from their disk snapshots. */

export const scope: Scope = { projectId: id(0xc000), env: 'live', tenantIds: [] }
export const facts = {
  workspaceId: id(0xd000),
  version: 7,
  confirmedWall: 1_800_000_000_000,
  confirmedUptime: 5_000,
  confirmedService: 1_800_000_007_000,
}

export const key = (number: number, more: Partial<StoredKey> = {}): StoredKey => ({
  keyId: id(number),
  tenantId: id(0xa000 + (number % 3)),
  env: number % 2 ? 'live' : 'test',
  digest: digestOf(`key ${number}`),
  scopes: number % 3 ? ['read'] : [],
  rateLimits:
    number % 4 ? undefined : [{ id: 'burst', limit: 5, windowMs: 1000, algorithm: 'fixed', scope: 'key' }],
  expiresAt: number % 5 ? Number.POSITIVE_INFINITY : 1_900_000_000_000 + number,
  ...more,
})

export function filled(count: number, maxKeys = 1_000): Store {
  const store = new Store(maxKeys)
  for (let number = 1; number <= count; number++) store.upsert(key(number))
  return store
}

/** An ArrayBuffer that holds the file alone, as the reader requires. */
const blockOf = (bytes: Uint8Array): ArrayBuffer => new Uint8Array(bytes).buffer

export const decode = (bytes: Uint8Array, reader: Scope = scope, most = 1_000) =>
  decodeSnapshot(blockOf(bytes), reader, most)

export function accepted(bytes: Uint8Array, reader: Scope = scope): Loaded {
  const loaded = decode(bytes, reader)
  if ('refused' in loaded) assert.fail(loaded.why)
  return loaded
}

/** The full contents of a store, least recently used first. */
export function contentOf({ records }: Store) {
  return [...records.slots()]
    .sort((one, other) => records.used(one) - records.used(other))
    .map(slot => [
      records.keyId(slot),
      records.tenantId(slot),
      records.env(slot),
      records.scopes(slot),
      records.rateLimits(slot),
      records.end(slot),
    ])
}
