import type { Bench } from './harness/bench.ts'
import { checkArm } from './service/check-arm.ts'
import { rateLimitChecks } from './service/checks.ts'
import { migratedPostgres, startKeyrail } from './service/start.ts'
import { makeVendor } from './service/vendor.ts'

/** What authentication costs a check: the same service on the same database, with it composed away. */
export const bench: Bench = {
  name: 'G22',
  title: 'A rate-limit check with its authentication, against the check without',
  goal: { metric: 'requests/s', direction: 'at least', floor: 0.9, moonshot: 0.97 },
  async arms(run) {
    const postgres = await run.use(migratedPostgres())
    const server = await run.use(startKeyrail(postgres))
    const vendor = await makeVendor(server.url)
    const open = await run.use(startKeyrail(postgres, { openTo: vendor.workspaceId }))
    const requests = rateLimitChecks(vendor, 1)
    return [
      checkArm('keyrail', 'subject', server.url, requests),
      checkArm('without authentication', 'control', open.url, requests),
    ]
  },
}
