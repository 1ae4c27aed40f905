import type { Authenticate } from '../gate/authenticate.ts'
import type { Clock } from '../platform/clock.ts'
import type { MakeId } from '../platform/ids.ts'
import type { Metrics } from '../platform/observe/metrics.ts'
import type { Endings } from '../secret-keys/endings.ts'
import type { Disownings } from './disownings.ts'

/** What the routes of this room need from outside; `deps.ts` has it. */
export interface WorkspaceNeeds {
  readonly config: { readonly maxWorkspacesPerPerson: number }
  readonly clock: Clock
  readonly metrics: Pick<Metrics, 'workspaceCreated'>
  /** Reads a secret key that a person shows. */
  readonly authenticate: Authenticate
  readonly makeId: MakeId
  readonly randomBytes: (size: number) => Buffer
  /** Ends what a person made in a workspace that the person gives up. */
  readonly endings: Pick<Endings, 'follow'>
  readonly disownings: Pick<Disownings, 'follow'>
}
