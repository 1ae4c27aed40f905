import type { Key } from '@keyrail/contract/vendor/keys'
import { stateOf } from './key-words.ts'

/** What an editor can do with a key. */
export type KeyChange = 'edit' | 'rotate' | 'revoke'

/** @param isReplaced whether another key has taken its place */
export function changesOf(key: Key, isReplaced: boolean): readonly KeyChange[] {
  if (key.revoked_at !== null) return []
  return stateOf(key) === 'Expired' || isReplaced ? ['edit', 'revoke'] : ['edit', 'rotate', 'revoke']
}
