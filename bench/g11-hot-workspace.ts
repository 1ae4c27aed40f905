import type { Arm, Bench } from './harness/bench.ts'
import { meterCpu } from './harness/cpu.ts'
import { measureCreating, WRITERS } from './service/creating.ts'
import { keyCreations, tenantCreations } from './service/creations.ts'
import { prepareHeadCommits } from './service/head-commits.ts'
import { migratedPostgres, startKeyrail } from './service/start.ts'
import { makeVendor } from './service/vendor.ts'

/**
 * One workspace with many writers: every mutation waits for the head of its audit chain. Tenant creation over HTTP,
 * with 32 connections, against pgbench with 32 clients that lock, insert and move a head on the same Postgres. Key
 * creation, which also raises a policy version, is shown beside it.
 */

/** So many that none comes near the 10,000 active keys that a tenant may have. */
const TENANTS = 64
const COMMIT = ['commit', 'commits'] as const
const KEY_COMMIT = ['key commit', 'key commits'] as const

export const bench: Bench = {
  name: 'G11',
  title: 'One hot workspace, 32 writers, against pgbench on one head row',
  goal: { metric: 'commits/CPU s', direction: 'at least', floor: 0.6, moonshot: 0.9 },
  async arms(run) {
    const postgres = await run.use(migratedPostgres())
    const server = await run.use(startKeyrail(postgres))
    const vendor = await makeVendor(server.url, { tenants: TENANTS })
    const vendors = [vendor]
    const [row] = await postgres.query(
      `select max(octet_length(payload))::int as bytes from audit_logs where action = 'tenant.created'`,
    )
    const headCommits = await prepareHeadCommits(postgres, Number(row?.bytes))

    const ours: Arm = {
      name: 'keyrail',
      role: 'subject',
      async measure({ seconds }) {
        const load = { server, postgres, vendors, seconds, audited: true }
        const requests = tenantCreations(vendor)
        const tenants = await measureCreating({ ...load, requests, unit: COMMIT })
        const keys = await measureCreating({ ...load, requests: keyCreations(vendors), unit: KEY_COMMIT })
        return { values: { ...tenants.values, ...keys.values }, doubt: tenants.doubt ?? keys.doubt }
      },
    }
    const control: Arm = {
      name: 'pgbench',
      role: 'control',
      async measure({ seconds }) {
        const { result, values } = await meterCpu(
          { Postgres: postgres },
          COMMIT,
          () => headCommits.measure(WRITERS, seconds),
          ({ transactions }) => transactions,
        )
        return { values: { ...values, 'commits/s': result.tps } }
      },
    }
    return [ours, control]
  },
}
