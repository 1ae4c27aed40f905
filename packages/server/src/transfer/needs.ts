import type { Exports } from '../audit/exports.ts'
import type { IssueNeeds } from '../keys/needs.ts'

/** What importing keys needs. */
export type ImportNeeds = Pick<IssueNeeds, 'clock' | 'makeId' | 'randomBytes' | 'endedQuota'> & {
  readonly config: Pick<IssueNeeds['config'], 'maxActiveKeysPerTenant'>
}

/** What the routes of this room need from outside; `deps.ts` has it. */
export interface TransferNeeds extends ImportNeeds {
  readonly keyExports: Exports
}
