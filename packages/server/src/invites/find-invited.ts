import type { Connection } from '../platform/db/connection.ts'
import { type Lane, type LaneObserver, openLane } from '../platform/db/lane.ts'
import { findInvited } from './sql.ts'

/**
 * Whether an address, by its `addressKey`, has a pending invitation in any workspace. Asked of addresses that may be
 * anybody's, and never answered to who has asked.
 */
export type FindInvited = Lane<string, boolean>

export function openFindInvited(connection: Connection, observer: LaneObserver): FindInvited {
  return openLane(
    connection,
    {
      name: 'invited',
      statement: findInvited,
      repeatable: true,
      nameOf: addressKey => addressKey,
      values: addressKeys => [addressKeys],
      answers: (rows, addressKeys) => {
        const invited = new Set(rows.map(row => Number(row.place)))
        return addressKeys.map((_, i) => invited.has(i + 1))
      },
    },
    observer,
  )
}
