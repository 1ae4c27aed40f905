import type { Readiness } from '../platform/db/failover/readiness.ts'

/** What the routes of this room need from outside; `deps.ts` has it. */
export interface HealthNeeds {
  readonly readiness: Readiness
  /** Aborted when the process is about to stop. */
  readonly leaving: AbortSignal
}
