import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { type Arm, type Bench, BenchFault, type BenchRun } from './harness/bench.ts'
import { requestArm } from './harness/request-arm.ts'
import { freePort, spawnServer } from './harness/spawn-server.ts'
import { keyOf } from './service/creations.ts'
import { migratedPostgres, startKeyrail } from './service/start.ts'
import { call, makeVendor } from './service/vendor.ts'

/**
 * What an idle fleet costs: a node asks for changes since its version, and gets none. The poll is authenticated, and
 * recorded when the node was not seen for a while. The control is a bare Fastify that returns the same bytes to any
 * client.
 */

const CONNECTIONS = 64
/** Names of nodes; each polls often, as a real node does. */
const NODES = 256
const ANSWER = 'each without a change'

export const bench: Bench = {
  name: 'G14',
  title: 'An unchanged delta poll, against a bare Fastify GET of the same bytes',
  goal: { metric: 'requests/CPU s', direction: 'at least', floor: 0.6, moonshot: 0.9 },
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
  if ((answer.changes as unknown[]).length > 0) throw new BenchFault('the poll returned changes')
  const requests = Array.from({ length: NODES }, () => ({ path: `${path}&node=${randomUUID()}`, headers }))
  const expectBody = `"version":${project.policy_version},`
  const load = { url: server.url, connections: CONNECTIONS, requests, expectBody }
  const users = { service: server, Postgres: postgres }
  const ours = requestArm('keyrail', 'subject', users, load, ANSWER)
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
  const load = { url, connections: CONNECTIONS, requests: [{ path: '/echo' }], expectBody: '"changes":[]' }
  return requestArm('bare Fastify', 'control', { service: server }, load, ANSWER)
}
