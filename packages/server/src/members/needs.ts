import type { CommonNeeds } from '../gate/common-needs.ts'
import type { Endings } from '../secret-keys/endings.ts'

/** What the routes of this room need from outside; `deps.ts` has it. */
export interface MemberNeeds extends CommonNeeds {
  /** Ends what former members have made. */
  readonly endings: Pick<Endings, 'follow'>
}
