import type { Key } from '@keyrail/contract/vendor/keys'
import { Badge } from '@mantine/core'
import { stateOf } from './key-words.ts'

interface KeyStateBadgeProps {
  readonly of: Key
  /** Whether nodes refuse the key in any state, for its tenant is suspended. */
  readonly isSuspended?: boolean
}

/** Where a key is in its life. No column of a table cuts the word. */
export function KeyStateBadge({ of, isSuspended = false }: KeyStateBadgeProps) {
  const state = stateOf(of)
  return state === 'Active' && !isSuspended ? (
    <Badge variant="light" miw="max-content">
      {state}
    </Badge>
  ) : (
    <Badge variant="default" miw="max-content">
      {state}
    </Badge>
  )
}
