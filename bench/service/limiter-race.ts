import { join } from 'node:path'
import type { Arm, BenchRun } from '../harness/bench.ts'
import type { CpuUsers } from '../harness/cpu.ts'
import type { Load } from '../harness/load.ts'
import type { HttpRequest } from '../harness/request.ts'
import { meteredLoop, requestArm } from '../harness/request-arm.ts'
import { freePort, spawnServer } from '../harness/spawn-server.ts'
import { checksOf, inLists, rateLimitChecks } from './checks.ts'
import { answerTo } from './echo.ts'
import type { ScratchRedis } from './redis.ts'
import { migratedPostgres, startKeyrail } from './start.ts'
import { makeVendor } from './vendor.ts'

const CHECKS_IN_A_LIST = 32
/** Fewer than for single checks: lists of one workspace may have 2,000 checks under way. */
const LISTS_AT_ONCE = 16

/**
 * The whole check, and what a vendor would build instead, on the same store; ours with Redis also in lists, a call
 * for the checks of many customers' requests, which are what is counted.
 */
export async function limiterRace(run: BenchRun, redis: ScratchRedis | null): Promise<Arm[]> {
  const postgres = await run.use(migratedPostgres())
  const env: Record<string, string> = redis === null ? {} : { REDIS_URL: redis.url }
  const server = await run.use(startKeyrail(postgres, { env }))
  const requests = rateLimitChecks(await makeVendor(server.url), 1)
  const answer = await answerTo(server.url, requests[0] as HttpRequest)
  const port = await freePort()
  const peerUrl = `http://127.0.0.1:${port}`
  const peer = await run.use(
    spawnServer({
      script: join(import.meta.dirname, 'peer-limiter.ts'),
      args: ['--port', String(port), '--answer', answer],
      env: redis === null ? { DATABASE_URL: postgres.url } : env,
      ready: { url: `${peerUrl}/healthz` },
    }),
  )
  // Keyrail finds its caller in Postgres, wherever its counters are.
  const stores = { Postgres: postgres, ...(redis && { Redis: redis }) }
  const asked = requests.map(request => ({ ...request, path: '/check' }))
  const answers = 'each allowed'
  const users = { service: server, ...stores }
  const one = requestArm(
    'keyrail',
    redis === null ? 'subject' : 'peer',
    users,
    checksOf(server.url, requests),
    answers,
  )
  return [
    ...(redis === null ? [one] : [listsArm(users, checksOf(server.url, requests), answers), one]),
    requestArm(
      'rate-limiter-flexible',
      'control',
      { service: peer, ...stores },
      checksOf(peerUrl, asked),
      answers,
    ),
  ]
}

const listsArm = (users: CpuUsers, load: Omit<Load, 'seconds'>, answer: string): Arm => ({
  name: `keyrail, lists of ${CHECKS_IN_A_LIST}`,
  role: 'subject',
  async measure({ seconds }) {
    const requests = inLists(load.requests as HttpRequest[], CHECKS_IN_A_LIST)
    const lists = { ...load, requests, connections: LISTS_AT_ONCE, seconds }
    const { values, doubt } = await meteredLoop(users, lists, ['request', 'requests'], CHECKS_IN_A_LIST)
    return { values, answer, doubt }
  },
})
