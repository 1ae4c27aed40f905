import type { Clock } from '../platform/clock.ts'
import type { Cursors } from '../platform/cursor.ts'
import type { MakeId } from '../platform/ids.ts'

/** What the routes of this room need from outside; `deps.ts` gives it. */
export interface TenantNeeds {
  readonly clock: Clock
  readonly cursors: Cursors
  readonly makeId: MakeId
  readonly randomBytes: (size: number) => Buffer
}
