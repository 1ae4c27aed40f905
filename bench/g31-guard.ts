import { join } from 'node:path'
import type { Arm, Bench, BenchRun } from './harness/bench.ts'
import { openLoop } from './harness/load.ts'
import { meteredLoop } from './harness/request-arm.ts'
import { freePort, type ServerProcess, spawnServer } from './harness/spawn-server.ts'
import { issueKeys } from './service/issue-keys.ts'
import { migratedPostgres, startKeyrail } from './service/start.ts'
import { makeVendor } from './service/vendor.ts'

/**
 * The sub-request of a proxy for each request of its clients, on connections that it keeps: a verdict of the guard with the headers
 * of identity, against Node's own server that answers 204 without a look. The service stands still meanwhile.
 */
const CONNECTIONS = 64
const KEYS = 1_000
/** Requests a second at which the median is taken: both answer far more. */
const PER_SECOND = 1_000

const folder = import.meta.dirname

async function startServer(
  run: BenchRun,
  script: string,
  path: string,
  settings: (port: number) => { args?: string[]; env?: Record<string, string> },
): Promise<ServerProcess & { url: string }> {
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const server = await run.use(
    spawnServer({
      script: join(folder, script),
      nodeArgs: ['--conditions=keyrail-source'],
      ready: { url: url + path },
      ...settings(port),
    }),
  )
  return { ...server, url }
}

export const bench: Bench = {
  name: 'G31',
  title: 'A verdict of the guard for a proxy, against a bare Node server that answers 204',
  goal: { metric: 'requests/CPU s', direction: 'at least', floor: 0.5, moonshot: 0.8 },
  async arms(run) {
    const postgres = await run.use(migratedPostgres())
    const service = await run.use(startKeyrail(postgres))
    const vendor = await makeVendor(service.url)
    const { valid: keys } = await issueKeys(service.url, vendor, KEYS)
    const guard = await startServer(run, '../packages/guard/src/main.ts', '/readyz', port => ({
      env: {
        KEYRAIL_URL: service.url,
        KEYRAIL_SECRET_KEY: vendor.token,
        KEYRAIL_PROJECT: vendor.projectId,
        GUARD_LISTEN: `127.0.0.1:${port}`,
      },
    }))
    const bare = await startServer(run, 'service/bare-auth.ts', '/', port => ({
      args: ['--port', String(port)],
    }))
    run.note(`${KEYS} keys without limits; the median at ${PER_SECOND} requests/s on both`)
    const arm = (
      name: string,
      role: Arm['role'],
      server: ServerProcess & { url: string },
      status: number,
    ): Arm => ({
      name,
      role,
      async measure({ seconds }) {
        const requests = keys.map(({ key }) => ({
          path: '/auth?scope=orders:read',
          headers: { authorization: `Bearer ${key}` },
        }))
        const load = { url: server.url, connections: CONNECTIONS, seconds, requests, expectStatus: status }
        const closed = await meteredLoop({ [name]: server }, load)
        const open = await openLoop({ ...load, perSecond: PER_SECOND })
        return {
          values: { ...closed.values, 'p50 ms': open.p50Ms },
          answer: 'each allowed',
          doubt: closed.doubt,
        }
      },
    })
    return [arm('guard', 'subject', guard, 200), arm('bare Node', 'control', bare, 204)]
  },
}
