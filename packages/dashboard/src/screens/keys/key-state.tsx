import type { Key } from '@keyrail/contract/vendor/keys'
import { Badge } from '@mantine/core'
import { stateOf } from './key-words.ts'

/** Where a key is in its life. */
export function KeyStateBadge({ of }: { readonly of: Key }) {
  const state = stateOf(of)
  return state === 'Active' ? (
    <Badge variant="light">{state}</Badge>
  ) : (
    <Badge variant="default">{state}</Badge>
  )
}
