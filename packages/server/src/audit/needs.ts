import type { Cursors } from '../platform/paging/cursor.ts'
import type { Exports } from './exports.ts'
import type { SignHeads } from './signed-head.ts'

/** What the routes of this room need from outside; `deps.ts` has it. */
export interface AuditNeeds {
  readonly cursors: Cursors
  readonly auditHeads: SignHeads
  readonly auditExports: Exports
}
