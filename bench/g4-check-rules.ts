import type { Arm, Bench } from './harness/bench.ts'
import { checkArm } from './service/check-arm.ts'
import { rateLimitChecks } from './service/checks.ts'
import { migratedPostgres, startKeyrail } from './service/start.ts'
import { makeVendor } from './service/vendor.ts'

/** What eight limits cost beside one: all counters of a key stand in one row. */
export const bench: Bench = {
  name: 'G4',
  title: 'A rate-limit check of eight rules, against one of one rule',
  goal: { metric: 'requests/s', direction: 'at least', floor: 0.75, moonshot: 0.9 },
  async arms(run) {
    const postgres = await run.use(migratedPostgres())
    const server = await run.use(startKeyrail(postgres))
    const vendor = await makeVendor(server.url)
    const arm = (name: string, role: Arm['role'], rules: number) =>
      checkArm(name, role, server.url, rateLimitChecks(vendor, rules))
    return [arm('8 rules', 'subject', 8), arm('1 rule', 'control', 1)]
  },
}
