import type { Clock } from '../platform/clock.ts'
import type { MakeId } from '../platform/ids.ts'
import type { Cursors } from '../platform/paging/cursor.ts'
import type { FleetNeeds } from '../policy/propagation.ts'
import type { Bulks } from './bulks.ts'
import type { EndedQuota } from './ended-quota.ts'
import type { KeyTurns } from './turns.ts'

/** What revoking a key needs. */
export type RevokeNeeds = Pick<IssueNeeds, 'clock' | 'randomBytes'>

/** What issuing a key needs. */
export interface IssueNeeds {
  readonly clock: Clock
  readonly makeId: MakeId
  readonly randomBytes: (size: number) => Buffer
  readonly endedQuota: EndedQuota
  readonly config: { readonly maxActiveKeysPerTenant: number; readonly embedMaxActiveKeys: number }
}

/** What the routes of this room need from outside; `deps.ts` has it. */
export interface KeyNeeds extends IssueNeeds, FleetNeeds {
  readonly config: IssueNeeds['config'] & FleetNeeds['config']
  readonly cursors: Cursors
  readonly keyTurns: KeyTurns
  readonly bulks: Pick<Bulks, 'wake' | 'read' | 'versionsOf'>
}
