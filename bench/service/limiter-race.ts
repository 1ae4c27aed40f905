import { join } from 'node:path'
import type { Arm, BenchRun } from '../harness/bench.ts'
import type { HttpRequest } from '../harness/request.ts'
import { requestArm } from '../harness/request-arm.ts'
import { freePort, spawnServer } from '../harness/spawn-server.ts'
import { checksOf, rateLimitChecks } from './checks.ts'
import { answerTo } from './echo.ts'
import type { ScratchRedis } from './redis.ts'
import { migratedPostgres, startKeyrail } from './start.ts'
import { makeVendor } from './vendor.ts'

/** The whole check, and what a vendor would build instead, on the same store. */
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
  return [
    requestArm('keyrail', 'subject', { service: server, ...stores }, checksOf(server.url, requests), answers),
    requestArm(
      'rate-limiter-flexible',
      'control',
      { service: peer, ...stores },
      checksOf(peerUrl, asked),
      answers,
    ),
  ]
}
