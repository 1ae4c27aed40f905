import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { type Arm, type Bench, BenchFault, type BenchRun } from './harness/bench.ts'
import { closedLoop } from './harness/load.ts'
import type { HttpRequest } from './harness/request.ts'
import { type ScratchPostgres, scratchPostgres } from './harness/scratch-postgres.ts'
import { rateLimitChecks } from './service/checks.ts'
import { measureCreating } from './service/creating.ts'
import { keyCreations, keyOf, tenantCreations } from './service/creations.ts'
import { postgresCpuSeconds } from './service/postgres-cpu.ts'
import { type Keyrail, startKeyrail } from './service/start.ts'
import { call, makeVendor, type Vendor } from './service/vendor.ts'

/**
 * What a change costs: the service of this checkout against that of another, which BENCH_OTHER names, each on a Postgres
 * of its own with its own schema. The loads are those of G10, G11, G3 and G14.
 */
const WORKSPACES = 16
/** Of each workspace. */
const TENANTS = 8
const CONNECTIONS = 64

const atLeast = (metric: string) => ({ metric, direction: 'at least' as const, floor: 0.95, moonshot: 1 })

export const bench: Bench = {
  name: 'G26',
  title: 'This checkout against the one that BENCH_OTHER names: mutations, checks and polls',
  goal: [
    atLeast('hot tenants/s'),
    atLeast('keys/s'),
    atLeast('checks/s'),
    atLeast('polls/s'),
    { metric: 'check CPU us', direction: 'at most', floor: 1.05, moonshot: 1 },
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
  return {
    name,
    role,
    async measure({ seconds }) {
      const load = { server, postgres, vendors, seconds, audited: true }
      const tenants = await measureCreating({ ...load, requests: tenantCreations(hot) })
      const keys = await measureCreating({ ...load, requests })
      const checked = await measureReading(server, postgres, seconds, checks, '"allowed":true')
      const polled = await measureReading(server, postgres, seconds, await polls(server, hot), '"changes":[]')
      const values = {
        'hot tenants/s': tenants.perSecond,
        'tenant server us': tenants.serverUs,
        'tenant Postgres us': tenants.postgresUs,
        'keys/s': keys.perSecond,
        'key server us': keys.serverUs,
        'key Postgres us': keys.postgresUs,
        'checks/s': checked.perSecond,
        'check CPU us': checked.cpuUs,
        'polls/s': polled.perSecond,
        'poll CPU us': polled.cpuUs,
      }
      return { values, doubt: tenants.doubt ?? keys.doubt ?? checked.doubt ?? polled.doubt }
    },
  }
}

/** Unchanged ones: the version moves with every round of creations. */
async function polls(server: Keyrail, vendor: Vendor): Promise<HttpRequest[]> {
  await call(server.url, vendor.token, '/v1/keys', keyOf(vendor))
  const { policy_version } = await call(server.url, vendor.token, `/v1/projects/${vendor.projectId}`)
  const path = `/v1/policy/delta?project_id=${vendor.projectId}&since=${policy_version}&max_keys=5000`
  const headers = { authorization: `Bearer ${vendor.token}` }
  return Array.from({ length: 256 }, (_, n) => ({ path: `${path}&node=node-${n}`, headers }))
}

/** How many a second, and what one takes of the service and of Postgres together. */
async function measureReading(
  server: Keyrail,
  postgres: ScratchPostgres,
  seconds: number,
  requests: HttpRequest[],
  expectBody: string,
) {
  const cpu = () => server.cpuSeconds() + postgresCpuSeconds(postgres.pid)
  const before = cpu()
  const load = { url: server.url, connections: CONNECTIONS, seconds, requests, expectBody }
  const { answered, perSecond, doubt } = await closedLoop(load)
  return { perSecond, cpuUs: ((cpu() - before) * 1e6) / answered, doubt }
}

const run = promisify(execFile)

async function migrate({ url }: ScratchPostgres, checkout = join(import.meta.dirname, '..')): Promise<void> {
  const args = [join(checkout, 'bin', 'keyrail.mjs'), 'migrate']
  await run(process.execPath, args, { env: { ...process.env, DATABASE_URL: url } })
}
