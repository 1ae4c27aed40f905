import { digestOf } from '../runtime/digest.ts'
import type { Served } from './verify.ts'

/** The environment of a key that is held, or was; undefined if nothing is known of the key. For keys whose text has none. */
export function envOfHeld({ store, ended }: Served, key: string): 'live' | 'test' | undefined {
  const digest = digestOf(key)
  const slot = store?.find(digest) ?? -1
  return store === undefined || slot === -1 ? ended?.envOf(digest) : store.records.env(slot)
}
