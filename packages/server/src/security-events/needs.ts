import type { Cursors } from '../platform/paging/cursor.ts'

/** What the routes of this room need from outside; `deps.ts` has it. */
export interface SecurityEventNeeds {
  readonly cursors: Cursors
}
