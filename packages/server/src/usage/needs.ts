import type { Cursors } from '../platform/paging/cursor.ts'
import type { Reports } from './reports.ts'

/** What the routes of this room need from outside; `deps.ts` has it. */
export interface UsageNeeds {
  readonly cursors: Cursors
  readonly usageReports: Pick<Reports, 'run' | 'refusals'>
}
