import type { Clock } from '../platform/clock.ts'
import type { Cursors } from '../platform/cursor.ts'
import type { MakeId } from '../platform/ids.ts'
import type { Endings } from '../secret-keys/endings.ts'

/** What the routes of this room need from outside; `deps.ts` gives it. */
export interface MemberNeeds {
  readonly clock: Clock
  readonly cursors: Cursors
  readonly makeId: MakeId
  /** Ends what former members have made. */
  readonly endings: Pick<Endings, 'follow'>
  readonly randomBytes: (size: number) => Buffer
}
