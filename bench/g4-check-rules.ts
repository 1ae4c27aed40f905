import type { Arm, Bench } from './harness/bench.ts'
import { requestArm } from './harness/request-arm.ts'
import { checksOf, rateLimitChecks } from './service/checks.ts'
import { migratedPostgres, startKeyrail } from './service/start.ts'
import { makeVendor } from './service/vendor.ts'

/** What eight limits cost compared with one: all counters of a key are in one row. */
export const bench: Bench = {
  name: 'G4',
  title: 'A rate-limit check of eight rules, against one of one rule',
  goal: { metric: 'requests/CPU s', direction: 'at least', floor: 0.75, moonshot: 0.9 },
  async arms(run) {
    const postgres = await run.use(migratedPostgres())
    const server = await run.use(startKeyrail(postgres))
    const vendor = await makeVendor(server.url)
    const users = { service: server, Postgres: postgres }
    const arm = (name: string, role: Arm['role'], rules: number) =>
      requestArm(name, role, users, checksOf(server.url, rateLimitChecks(vendor, rules)), 'each allowed')
    return [arm('8 rules', 'subject', 8), arm('1 rule', 'control', 1)]
  },
}
