import type { Clock } from '../platform/clock.ts'
import type { MakeId } from '../platform/ids.ts'
import type { Cursors } from '../platform/paging/cursor.ts'

/** What most routes need from outside. A room that needs more says so in its `needs.ts`. */
export interface CommonNeeds {
  readonly clock: Clock
  readonly cursors: Cursors
  readonly makeId: MakeId
  readonly randomBytes: (size: number) => Buffer
}
