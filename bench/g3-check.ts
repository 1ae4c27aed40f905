import type { Arm, Bench } from './harness/bench.ts'
import type { CpuUsers } from './harness/cpu.ts'
import { closedLoop, openLoop } from './harness/load.ts'
import type { HttpRequest } from './harness/request.ts'
import { meteredLoop } from './harness/request-arm.ts'
import { rateLimitChecks } from './service/checks.ts'
import { answerTo, startEcho, toEcho } from './service/echo.ts'
import { migratedPostgres, startKeyrail } from './service/start.ts'
import { makeVendor } from './service/vendor.ts'

/**
 * A rate-limit check, called once per request of a vendor's customers: authenticated, charged in Postgres, logged.
 * Against a bare Fastify that parses the same body and returns the same bytes, on the same core.
 */
const CONNECTIONS = 64
/** Share of the slower arm's rate: latency is measured at this rate. */
const SHARE = 0.7

export const bench: Bench = {
  name: 'G3',
  title: 'A rate-limit check of one rule over HTTP, against a bare Fastify POST of the same bytes',
  goal: [
    { metric: 'requests/CPU s', direction: 'at least', floor: 0.6, moonshot: 0.8 },
    { metric: 'p99 ms', direction: 'at most', floor: 1.5, moonshot: 1.25 },
  ],
  async arms(run) {
    const postgres = await run.use(migratedPostgres())
    const server = await run.use(startKeyrail(postgres))
    const requests = rateLimitChecks(await makeVendor(server.url), 1)
    const echo = await startEcho(run, await answerTo(server.url, requests[0] as HttpRequest))
    const most = await closedLoop({
      url: server.url,
      connections: CONNECTIONS,
      seconds: run.quick ? 1 : 5,
      requests,
      expectBody: '"allowed":true',
    })
    const rate = Math.floor(most.perSecond * SHARE)
    run.note(`p99: at ${rate} requests/s on both, ${SHARE * 100} % of keyrail's rate before the first round`)

    const arm = (
      name: string,
      role: Arm['role'],
      users: CpuUsers,
      url: string,
      asked: readonly HttpRequest[],
    ): Arm => ({
      name,
      role,
      async measure({ seconds }) {
        const load = { url, connections: CONNECTIONS, seconds, requests: asked, expectBody: '"allowed":true' }
        const closed = await meteredLoop(users, load)
        const open = await openLoop({ ...load, perSecond: rate })
        return {
          values: { ...closed.values, 'p99 ms': open.p99Ms },
          answer: 'each allowed',
          doubt: closed.doubt ?? open.doubt,
        }
      },
    })
    return [
      arm('keyrail', 'subject', { service: server, Postgres: postgres }, server.url, requests),
      arm('bare Fastify', 'control', { service: echo }, echo.url, toEcho(requests)),
    ]
  },
}
