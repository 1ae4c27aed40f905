import { systemTimer } from '../runtime/timer.ts'
import { openAdmin } from './open.ts'
import type { AdminOptions } from './options.ts'

/** Manages a workspace; made by `createAdmin`. Each method names the route that it calls. */
export interface Admin extends ReturnType<typeof openAdmin> {}

/**
 * Manages a workspace with its secret key. Every call rejects with a `KeyrailError` (`code`, `status`, `requestId`).
 * Tenant ids, also `tenantId` in a query or body, may be given as `external:acme`: the tenant whose `externalId` is `acme`.
 *
 * @throws TypeError naming a missing or wrong option; Error in a browser
 */
export function createAdmin(options: AdminOptions = {}): Admin {
  return openAdmin(options, { timer: systemTimer, random: Math.random })
}
