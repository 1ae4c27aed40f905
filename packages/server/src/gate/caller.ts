import type { Db } from '../platform/db/db.ts'
import type { Principal, VendorPrincipal } from './principal.ts'

/** On whose behalf a room works, and with what. */
export interface Caller<Needs, P extends Principal = VendorPrincipal> {
  readonly deps: Needs
  /** Bound to the call. */
  readonly db: Db
  readonly principal: P
}
