import type { Arm, Bench } from './harness/bench.ts'
import { requestArm } from './harness/request-arm.ts'
import { checksOf, rateLimitChecks } from './service/checks.ts'
import { type Keyrail, migratedPostgres, startKeyrail } from './service/start.ts'
import { makeVendor } from './service/vendor.ts'

/** What authentication costs a check: the same service on the same database, composed without it. */
export const bench: Bench = {
  name: 'G22',
  title: 'A rate-limit check with its authentication, against the check without',
  goal: { metric: 'requests/CPU s', direction: 'at least', floor: 0.9, moonshot: 0.97 },
  async arms(run) {
    const postgres = await run.use(migratedPostgres())
    const server = await run.use(startKeyrail(postgres))
    const vendor = await makeVendor(server.url)
    const open = await run.use(startKeyrail(postgres, { openTo: vendor.workspaceId }))
    const requests = rateLimitChecks(vendor, 1)
    const arm = (name: string, role: Arm['role'], service: Keyrail) => {
      const users = { service, Postgres: postgres }
      return requestArm(name, role, users, checksOf(service.url, requests), 'each allowed')
    }
    return [arm('keyrail', 'subject', server), arm('without authentication', 'control', open)]
  },
}
