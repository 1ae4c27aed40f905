import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { type Arm, type Bench, BenchFault, type BenchRun } from './harness/bench.ts'
import { closedLoop } from './harness/load.ts'
import { freePort, spawnServer } from './harness/spawn-server.ts'
import { keyOf } from './service/creations.ts'
import { migratedPostgres, startKeyrail } from './service/start.ts'
import { call, makeVendor } from './service/vendor.ts'

/**
 * What a fleet costs while nothing happens: a node asks for what changed since the version that it holds, and
 * nothing has. Authenticated, and noted when it has not been seen for a while. Against a bare Fastify that gives
 * the same bytes to anybody.
 */

const CONNECTIONS = 64
/** Names of nodes, each seen often, as a node is that polls. */
const NODES = 256

export const bench: Bench = {
  name: 'G14',
  title: 'An unchanged delta poll, against a bare Fastify GET of the same bytes',
  goal: { metric: 'requests/s', direction: 'at least', floor: 0.6, moonshot: 0.9 },
  async arms(run) {
    const { ours, body } = await keyrail(run)
    return [ours, await bare(run, body)]
  },
}

async function keyrail(run: BenchRun): Promise<{ ours: Arm; body: string }> {
  const postgres = await run.use(migratedPostgres())
  const server = await run.use(startKeyrail(postgres))
  const vendor = await makeVendor(server.url)
  await call(server.url, vendor.token, '/v1/keys', keyOf(vendor))
  const project = await call(server.url, vendor.token, `/v1/projects/${vendor.projectId}`)
  const path = `/v1/policy/delta?project_id=${vendor.projectId}&since=${project.policy_version}&max_keys=5000`
  const headers = { authorization: `Bearer ${vendor.token}` }
  const answer = await call(server.url, vendor.token, path)
  if ((answer.changes as unknown[]).length > 0) throw new BenchFault('the poll is not unchanged')
  const requests = Array.from({ length: NODES }, () => ({ path: `${path}&node=${randomUUID()}`, headers }))
  const expectBody = `"version":${project.policy_version},`
  const ours: Arm = {
    name: 'keyrail',
    role: 'subject',
    async measure({ seconds }) {
      const before = server.cpuSeconds()
      const { answered, perSecond, doubt } = await closedLoop({
        url: server.url,
        connections: CONNECTIONS,
        seconds,
        requests,
        expectBody,
      })
      const cpuUs = ((server.cpuSeconds() - before) * 1e6) / answered
      return {
        values: { 'requests/s': perSecond, 'server CPU us': cpuUs },
        answer: 'each told of no change',
        doubt,
      }
    },
  }
  return { ours, body: JSON.stringify(answer) }
}

async function bare(run: BenchRun, body: string): Promise<Arm> {
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const server = await run.use(
    spawnServer({
      script: join(import.meta.dirname, 'harness', 'bare-fastify.ts'),
      args: ['--port', String(port), '--answer', body],
      ready: { url: `${url}/healthz` },
    }),
  )
  return {
    name: 'bare Fastify',
    role: 'control',
    async measure({ seconds }) {
      const before = server.cpuSeconds()
      const { answered, perSecond, doubt } = await closedLoop({
        url,
        connections: CONNECTIONS,
        seconds,
        requests: [{ path: '/echo' }],
        expectBody: '"changes":[]',
      })
      const cpuUs = ((server.cpuSeconds() - before) * 1e6) / answered
      return {
        values: { 'requests/s': perSecond, 'server CPU us': cpuUs },
        answer: 'each told of no change',
        doubt,
      }
    },
  }
}
