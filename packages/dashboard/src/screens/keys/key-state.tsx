import type { Key } from '@keyrail/contract/vendor/keys'
import { Badge } from '@mantine/core'
import { stateOf } from './key-words.ts'

/** Where a key is in its life. No column of a table cuts the word. */
export function KeyStateBadge({ of }: { readonly of: Key }) {
  const state = stateOf(of)
  return state === 'Active' ? (
    <Badge variant="light" miw="max-content">
      {state}
    </Badge>
  ) : (
    <Badge variant="default" miw="max-content">
      {state}
    </Badge>
  )
}
