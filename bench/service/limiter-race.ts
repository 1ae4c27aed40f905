import { join } from 'node:path'
import type { Arm, BenchRun } from '../harness/bench.ts'
import type { HttpRequest } from '../harness/request.ts'
import { freePort, spawnServer } from '../harness/spawn-server.ts'
import { checkArm } from './check-arm.ts'
import { rateLimitChecks } from './checks.ts'
import { answerTo } from './echo.ts'
import { migratedPostgres, startKeyrail } from './start.ts'
import { makeVendor } from './vendor.ts'

/** The whole check, and what a vendor would put together instead, on one and the same store. */
export async function limiterRace(run: BenchRun, redisUrl: string | null): Promise<Arm[]> {
  const postgres = await run.use(migratedPostgres())
  const env: Record<string, string> = redisUrl === null ? {} : { REDIS_URL: redisUrl }
  const server = await run.use(startKeyrail(postgres, { env }))
  const requests = rateLimitChecks(await makeVendor(server.url), 1)
  const answer = await answerTo(server.url, requests[0] as HttpRequest)
  const port = await freePort()
  const peerUrl = `http://127.0.0.1:${port}`
  await run.use(
    spawnServer({
      script: join(import.meta.dirname, 'peer-limiter.ts'),
      args: ['--port', String(port), '--answer', answer],
      env: redisUrl === null ? { DATABASE_URL: postgres.url } : env,
      ready: { url: `${peerUrl}/healthz` },
    }),
  )
  return [
    checkArm('keyrail', 'subject', server.url, requests),
    checkArm(
      'rate-limiter-flexible',
      'control',
      peerUrl,
      requests.map(request => ({ ...request, path: '/check' })),
    ),
  ]
}
