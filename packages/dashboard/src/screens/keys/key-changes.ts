import type { Key } from '@keyrail/contract/vendor/keys'
import { stateOf } from './key-words.ts'

/** What an editor can do with a key. */
export type KeyChange = 'edit' | 'rotate' | 'pause' | 'resume' | 'revoke'

/** @param isReplaced whether another key has taken its place */
export function changesOf(key: Key, isReplaced: boolean): readonly KeyChange[] {
  if (key.revoked_at !== null) return []
  const state = stateOf(key)
  if (state === 'Expired') return ['edit', 'revoke']
  if (state === 'Paused') return ['edit', 'resume', 'revoke']
  return isReplaced ? ['edit', 'pause', 'revoke'] : ['edit', 'rotate', 'pause', 'revoke']
}
