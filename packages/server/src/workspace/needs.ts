import type { Clock } from '../platform/clock.ts'
import type { MakeId } from '../platform/ids.ts'

/** What the routes of this room need from outside; `deps.ts` gives it. */
export interface WorkspaceNeeds {
  readonly config: { readonly maxWorkspacesPerPerson: number }
  readonly clock: Clock
  readonly makeId: MakeId
  readonly randomBytes: (size: number) => Buffer
}
