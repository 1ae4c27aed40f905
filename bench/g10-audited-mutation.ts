import type { Arm, Bench, BenchRun } from './harness/bench.ts'
import type { ScratchPostgres } from './harness/scratch-postgres.ts'
import { measureCreating } from './service/creating.ts'
import { keyCreations, keyOf } from './service/creations.ts'
import { requireRows, settledLedger } from './service/ledger.ts'
import { migratedPostgres, startKeyrail } from './service/start.ts'
import { call, makeVendor } from './service/vendor.ts'

/**
 * What the audit chain costs a mutation: key creation in 16 workspaces against the same service with its audit
 * statements dropped. Both write into one Postgres, each into different workspaces.
 */

const WORKSPACES = 16
/** In each workspace. */
const TENANTS = 8
/** Creations of the exact check before the rounds, where no request is cut off. */
const CHECKED = 64

export const bench: Bench = {
  name: 'G10',
  title: 'Key creation with its audit row, 16 workspaces, against the same without',
  goal: { metric: 'keys/CPU s', direction: 'at least', floor: 0.6, moonshot: 0.85 },
  async arms(run) {
    const postgres = await run.use(migratedPostgres())
    return [await arm(run, postgres, true), await arm(run, postgres, false)]
  },
}

async function arm(run: BenchRun, postgres: ScratchPostgres, audited: boolean): Promise<Arm> {
  const server = await run.use(startKeyrail(postgres, { audit: audited }))
  const vendors = await Promise.all(
    Array.from({ length: WORKSPACES }, () => makeVendor(server.url, { tenants: TENANTS })),
  )

  const before = await settledLedger(postgres, vendors)
  for (let n = 0; n < CHECKED; n += WORKSPACES) {
    await Promise.all(vendors.map(vendor => call(server.url, vendor.token, '/v1/keys', keyOf(vendor))))
  }
  requireRows(before, await settledLedger(postgres, vendors), { answered: CHECKED, cutOff: 0, audited })

  const requests = keyCreations(vendors)
  return {
    name: audited ? 'with audit' : 'without audit',
    role: audited ? 'subject' : 'control',
    async measure({ seconds }) {
      const unit = ['key', 'keys'] as const
      const load = { server, postgres, vendors, requests, seconds, audited, unit }
      const { values, doubt } = await measureCreating(load)
      return { values, answer: 'every answer 201', doubt }
    },
  }
}
