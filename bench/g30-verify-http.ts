import type { Bench } from './harness/bench.ts'
import { requestArm } from './harness/request-arm.ts'
import { checksOf, rateLimitChecks } from './service/checks.ts'
import { migratedPostgres, startKeyrail } from './service/start.ts'
import { makeVendor } from './service/vendor.ts'
import { verifications, verificationsOf } from './service/verifications.ts'

/**
 * What a verification by HTTP costs: it finds the key, judges it, charges its limit and counts the request. Against a check of the
 * same limit, which a server with the SDK asks for. 1.3 times the CPU is 0.77 times the requests.
 */
export const bench: Bench = {
  name: 'G30',
  title: 'A verification by HTTP of a key with one limit, against a rate-limit check of one rule',
  goal: { metric: 'requests/CPU s', direction: 'at least', floor: 0.77, moonshot: 1 },
  async arms(run) {
    const postgres = await run.use(migratedPostgres())
    const server = await run.use(startKeyrail(postgres))
    const vendor = await makeVendor(server.url)
    const users = { service: server, Postgres: postgres }
    const verified = await verifications(server.url, vendor, 1)
    const checked = rateLimitChecks(vendor, 1)
    return [
      requestArm('verify', 'subject', users, verificationsOf(server.url, verified), 'each passes'),
      requestArm('check', 'control', users, checksOf(server.url, checked), 'each passes'),
    ]
  },
}
