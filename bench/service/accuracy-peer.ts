import { parseArgs } from 'node:util'
import { Ratelimit } from '@upstash/ratelimit'
import { Redis } from 'ioredis'
import { RateLimiterRedis } from 'rate-limiter-flexible'
import { loggedFastify } from '../harness/logged-fastify.ts'

/**
 * A peer's limiter on Redis behind Fastify, for the accuracy bench: POST /check with a `key_id`.
 *
 *   REDIS_URL=… accuracy-peer.ts --port 4801 --peer upstash --limit 10 --window-ms 2000
 */
const { values } = parseArgs({
  options: {
    port: { type: 'string' },
    peer: { type: 'string' },
    limit: { type: 'string' },
    'window-ms': { type: 'string' },
  },
})
const redis = new Redis(process.env.REDIS_URL ?? '')
const limit = Number(values.limit)
const windowMs = Number(values['window-ms'])

const isAllowed: (key: string) => Promise<boolean> = values.peer === 'upstash' ? upstash() : flexible()

/** The peer's client speaks HTTP to a hosted Redis; the limiter needs three of its commands. */
function upstash() {
  const ratelimit = new Ratelimit({
    redis: {
      sadd: (key: string, ...members: string[]) => redis.sadd(key, ...members),
      // The hosted Redis takes a flag on the first line that other Redis servers reject.
      eval: (script: string, keys: string[], args: unknown[]) =>
        redis.eval(script.replace(/^#!.*\n/, ''), keys.length, ...keys, ...args.map(String)),
      evalsha: () => Promise.reject(new Error('NOSCRIPT')),
    } as never,
    limiter: Ratelimit.slidingWindow(limit, `${windowMs} ms`),
    ephemeralCache: false,
    prefix: `upstash-${windowMs}`,
  })
  return async (key: string) => (await ratelimit.limit(key)).success
}

function flexible() {
  const limiter = new RateLimiterRedis({ storeClient: redis, points: limit, duration: windowMs / 1_000 })
  return (key: string) =>
    limiter.consume(key).then(
      () => true,
      () => false,
    )
}

const app = loggedFastify()
app.get('/healthz', async () => ({ status: 'ok' }))
app.post<{ Body: { key_id: string } }>('/check', async ({ body }) => ({
  allowed: await isAllowed(body.key_id),
}))

process.once('SIGTERM', () => process.exit(0))
await app.listen({ host: '127.0.0.1', port: Number(values.port) })
