import { parseArgs } from 'node:util'
import { Redis } from 'ioredis'
import pg from 'pg'
import { RateLimiterPostgres, RateLimiterRedis, type RateLimiterRes } from 'rate-limiter-flexible'
import { loggedFastify } from '../harness/logged-fastify.ts'

/**
 * What a vendor would build instead: the same Fastify, the same bodies and logs, and rate-limiter-flexible on the same
 * store. It authenticates no caller, charges one limit, and returns its verdict in an answer of the same length.
 *
 *   DATABASE_URL=… peer-limiter.ts --port 4801 --answer '{"allowed":true}'
 *   REDIS_URL=…    peer-limiter.ts --port 4801 --answer '{"allowed":true}'
 */
const { values } = parseArgs({ options: { port: { type: 'string' }, answer: { type: 'string' } } })
const answer: object = JSON.parse(values.answer ?? '{}')
const limits = { points: 1_000_000, duration: 60 }
const { REDIS_URL, DATABASE_URL } = process.env

const limiter = REDIS_URL
  ? new RateLimiterRedis({ storeClient: new Redis(REDIS_URL, { enableOfflineQueue: false }), ...limits })
  : await postgresLimiter()

async function postgresLimiter() {
  const storeClient = new pg.Pool({ connectionString: DATABASE_URL, max: 10 })
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const made = new RateLimiterPostgres({ storeClient, tableName: 'peer_limits', ...limits }, error =>
    error ? reject(error) : resolve(),
  )
  await promise
  return made
}

const app = loggedFastify()
app.get('/healthz', async () => ({ status: 'ok' }))
app.post<{ Body: { key_id: string; cost?: number } }>('/check', async ({ body }) => {
  const { remainingPoints }: RateLimiterRes = await limiter.consume(body.key_id, body.cost ?? 1)
  return { ...answer, remaining: remainingPoints }
})

process.once('SIGTERM', () => process.exit(0))
await app.listen({ host: '127.0.0.1', port: Number(values.port) })
