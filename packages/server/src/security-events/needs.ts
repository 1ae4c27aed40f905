import type { Cursors } from '../platform/cursor.ts'

/** What the routes of this room need from outside; `deps.ts` has it. */
export interface SecurityEventNeeds {
  readonly cursors: Cursors
}
