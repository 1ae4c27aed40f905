import type { CommonNeeds } from '../gate/common-needs.ts'
import type { FleetNeeds } from '../policy/propagation.ts'

/** What the routes of this room need from outside; `deps.ts` has it. */
export interface TenantNeeds extends CommonNeeds, FleetNeeds {}
