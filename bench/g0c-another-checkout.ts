import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { type Arm, type Bench, BenchFault, type BenchRun } from './harness/bench.ts'
import type { HttpRequest } from './harness/request.ts'
import { meteredLoop } from './harness/request-arm.ts'
import { type ScratchPostgres, scratchPostgres } from './harness/scratch-postgres.ts'
import { rateLimitChecks } from './service/checks.ts'
import { measureCreating } from './service/creating.ts'
import { keyCreations, keyOf, tenantCreations } from './service/creations.ts'
import { type Keyrail, startKeyrail } from './service/start.ts'
import { call, makeVendor, type Vendor } from './service/vendor.ts'

/**
 * What a change costs: the service of this checkout against that of another, named by BENCH_OTHER, each on its own
 * Postgres with its own schema. The loads are those of G10, G11, G3 and G14.
 */
const WORKSPACES = 16
/** In each workspace. */
const TENANTS = 8
const CONNECTIONS = 64

const atLeast = (metric: string) => ({ metric, direction: 'at least' as const, floor: 0.95, moonshot: 1 })

export const bench: Bench = {
  name: 'G0C',
  title: 'This checkout against the one that BENCH_OTHER names: mutations, checks and polls',
  goal: [
    atLeast('hot tenants/CPU s'),
    atLeast('keys/CPU s'),
    atLeast('checks/CPU s'),
    atLeast('polls/CPU s'),
  ],
  async arms(run) {
    const other = process.env.BENCH_OTHER
    if (!other) throw new BenchFault('BENCH_OTHER must name the folder of another checkout, installed')
    return [await arm(run, 'this', 'subject'), await arm(run, 'other', 'control', other)]
  },
}

async function arm(run: BenchRun, name: string, role: Arm['role'], checkout?: string): Promise<Arm> {
  const postgres = await run.use(scratchPostgres())
  await migrate(postgres, checkout)
  const server = await run.use(startKeyrail(postgres, checkout === undefined ? {} : { checkout }))
  const vendors = await Promise.all(
    Array.from({ length: WORKSPACES }, () => makeVendor(server.url, { tenants: TENANTS })),
  )
  const [hot] = vendors as [Vendor, ...Vendor[]]
  const checks = rateLimitChecks(hot, 1)
  const requests = keyCreations(vendors)
  const users = { service: server, Postgres: postgres }
  return {
    name,
    role,
    async measure({ seconds }) {
      const load = { server, postgres, vendors, seconds, audited: true }
      const hotTenants = { requests: tenantCreations(hot), unit: ['hot tenant', 'hot tenants'] } as const
      const tenants = await measureCreating({ ...load, ...hotTenants })
      const keys = await measureCreating({ ...load, requests, unit: ['key', 'keys'] })
      const reads = { url: server.url, connections: CONNECTIONS, seconds }
      const checked = await meteredLoop(users, { ...reads, requests: checks, expectBody: '"allowed":true' }, [
        'check',
        'checks',
      ])
      const polled = await meteredLoop(
        users,
        { ...reads, requests: await polls(server, hot), expectBody: '"changes":[]' },
        ['poll', 'polls'],
      )
      const values = { ...tenants.values, ...keys.values, ...checked.values, ...polled.values }
      return { values, doubt: tenants.doubt ?? keys.doubt ?? checked.doubt ?? polled.doubt }
    },
  }
}

/** Unchanged polls: the version moves with every round of creations. */
async function polls(server: Keyrail, vendor: Vendor): Promise<HttpRequest[]> {
  await call(server.url, vendor.token, '/v1/keys', keyOf(vendor))
  const { policy_version } = await call(server.url, vendor.token, `/v1/projects/${vendor.projectId}`)
  const path = `/v1/policy/delta?project_id=${vendor.projectId}&since=${policy_version}&max_keys=5000`
  const headers = { authorization: `Bearer ${vendor.token}` }
  return Array.from({ length: 256 }, (_, n) => ({ path: `${path}&node=node-${n}`, headers }))
}

const run = promisify(execFile)

async function migrate({ url }: ScratchPostgres, checkout = join(import.meta.dirname, '..')): Promise<void> {
  const args = [join(checkout, 'bin', 'keyrail.mjs'), 'migrate']
  await run(process.execPath, args, { env: { ...process.env, DATABASE_URL: url } })
}
