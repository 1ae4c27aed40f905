import type { Budgets } from '../platform/budgets.ts'
import type { Clock } from '../platform/clock.ts'
import type { Cursors } from '../platform/paging/cursor.ts'
import type { PolicyFeed } from './service.ts'

/** What the routes of this room need from outside; `deps.ts` has it. */
export interface PolicyNeeds {
  readonly config: { readonly policyMaxPageKeys: number; readonly policyMaxWholeKeys: number }
  readonly budgets: Pick<Budgets, 'requestMs'>
  readonly clock: Clock
  readonly cursors: Cursors
  readonly policy: PolicyFeed
  /** Aborted when the service is about to close: polls that are held get their answer. */
  readonly closing: AbortSignal
}
