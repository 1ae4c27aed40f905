import { randomUUID } from 'node:crypto'
import type { Arm, Bench, BenchRun } from './harness/bench.ts'
import { treeCpuSeconds } from './harness/proc.ts'
import type { HttpRequest } from './harness/request.ts'
import { meteredLoop } from './harness/request-arm.ts'
import type { ScratchPostgres } from './harness/scratch-postgres.ts'
import { checksOf, rateLimitChecks } from './service/checks.ts'
import { migratedPostgres, startKeyrail } from './service/start.ts'
import { call, makeVendor, type Vendor } from './service/vendor.ts'

/**
 * What a call costs when processes share a port: work that shares a statement is shared in one process alone. Both arms have one
 * core and the same Postgres, so that only the costs differ; more cores give more requests a second.
 */
const CONNECTIONS = 64
const NODES = 256

export const bench: Bench = {
  name: 'G32',
  title: 'Checks and unchanged polls of two processes on one port, against one process',
  goal: [
    { metric: 'CPU us a check', direction: 'at most', floor: 1.2, moonshot: 1.05 },
    { metric: 'CPU us a poll', direction: 'at most', floor: 1.2, moonshot: 1.05 },
  ],
  async arms(run) {
    const postgres = await run.use(migratedPostgres())
    const one = await run.use(startKeyrail(postgres))
    const vendor = await makeVendor(one.url)
    const polls = await unchangedPolls(one.url, vendor)
    const arm = await armsOf(run, postgres, rateLimitChecks(vendor, 1), polls)
    return [await arm('two processes', 'subject', 2), await arm('one process', 'control', 1)]
  },
}

type Polls = { requests: readonly HttpRequest[]; expectBody: string }

async function unchangedPolls(url: string, vendor: Vendor): Promise<Polls> {
  const { policy_version: version } = await call(url, vendor.token, `/v1/projects/${vendor.projectId}`)
  const path = `/v1/policy/delta?project_id=${vendor.projectId}&since=${version}&max_keys=5000`
  const headers = { authorization: `Bearer ${vendor.token}` }
  return {
    requests: Array.from({ length: NODES }, () => ({ path: `${path}&node=${randomUUID()}`, headers })),
    expectBody: `"version":${version},`,
  }
}

async function armsOf(
  run: BenchRun,
  postgres: ScratchPostgres,
  checks: readonly HttpRequest[],
  polls: Polls,
) {
  return async (name: string, role: Arm['role'], processes: number): Promise<Arm> => {
    const server = await run.use(startKeyrail(postgres, { env: { SERVICE_PROCESSES: String(processes) } }))
    const users = { service: { cpuSeconds: () => treeCpuSeconds(server.pid) }, Postgres: postgres }
    return {
      name,
      role,
      async measure({ seconds }) {
        const checked = await meteredLoop(users, { ...checksOf(server.url, checks), seconds }, [
          'check',
          'checks',
        ])
        const load = { url: server.url, connections: CONNECTIONS, ...polls, seconds }
        const polled = await meteredLoop(users, load, ['poll', 'polls'])
        return {
          values: { ...checked.values, ...polled.values },
          answer: 'each allowed, each without a change',
          doubt: checked.doubt ?? polled.doubt,
        }
      },
    }
  }
}
