import type { Lane } from '../platform/db/lanes/lane.ts'
import type { Lanes } from '../platform/db/lanes/lanes.ts'
import { findInvited } from './sql.ts'

/**
 * Whether an address, by its `addressKey`, has a pending invitation in any workspace. Unauthenticated requests cause
 * this query, so the result must never reach the client.
 */
export type FindInvited = Lane<string, boolean>

export function openFindInvited(lanes: Lanes): FindInvited {
  return lanes.open({
    name: 'invited',
    shares: 'reads',
    statement: findInvited,
    repeatable: true,
    nameOf: addressKey => addressKey,
    values: addressKeys => [addressKeys],
    answers: (rows, addressKeys) => {
      const invited = new Set(rows.map(row => Number(row.place)))
      return addressKeys.map((_, i) => invited.has(i + 1))
    },
  })
}
