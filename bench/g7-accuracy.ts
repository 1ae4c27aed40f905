import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import type { Arm, Bench, BenchRun, Goal } from './harness/bench.ts'
import { runGenerator } from './harness/generator.ts'
import type { HttpRequest } from './harness/request.ts'
import { freePort, spawnServer } from './harness/spawn-server.ts'
import type { AccuracyCounts, AccuracyPlan } from './service/accuracy-process.ts'
import { scratchRedis } from './service/redis.ts'
import { migratedPostgres, startKeyrail } from './service/start.ts'
import { makeVendor, type Vendor } from './service/vendor.ts'

/**
 * A thousand callers exceed their limits, each through two processes at once. Within one window exactly the limit
 * passes. In the window after a spent one, no more passes than the sliding window allows at the latest possible moment
 * of the call. Peers on the same Redis are shown, not judged.
 */
const CALLERS = 1_000
const LIMIT = 10
const ATTEMPTS = 12
/** A burst of all callers fits into it many times, so that no window ends during a burst. */
const WIDE_MS = 2_678_400_000
const ROLL_MS = 20_000

const none = { compare: 'value', direction: 'at most', floor: 0, moonshot: 0 } as const
const goals: [Goal, ...Goal[]] = [
  { metric: 'admitted', direction: 'at most', floor: 1, moonshot: 1 },
  { metric: 'under-admitted', ...none },
  ...['Postgres', 'Redis'].flatMap(store =>
    ['fixed', 'sliding'].map(algorithm => ({ metric: `over, ${store} ${algorithm}`, ...none })),
  ),
]

type Side = { urls: [string, string]; requests(window: number, algorithm: string): HttpRequest[] }

export const bench: Bench = {
  name: 'G7',
  title: '1,000 callers through two processes: how many pass beyond the exact model',
  goal: goals,
  async arms(run) {
    const postgres = await run.use(migratedPostgres())
    const redis = await run.use(scratchRedis())
    const two = async (env: Record<string, string>) =>
      [
        await run.use(startKeyrail(postgres, { env })),
        await run.use(startKeyrail(postgres, { env })),
      ] as const
    const onPostgres = await two({})
    const onRedis = await two({ REDIS_URL: redis.url })
    const vendor = await makeVendor(onPostgres[0].url)
    const sides: Record<string, Side> = {
      Postgres: { urls: [onPostgres[0].url, onPostgres[1].url], requests: checksOf(vendor) },
      Redis: { urls: [onRedis[0].url, onRedis[1].url], requests: checksOf(vendor) },
    }
    const flexible = await peers(run, redis.url, 'rate-limiter-flexible', 3_600_000)
    const upstash = await peers(run, redis.url, 'upstash', ROLL_MS)

    const ours: Arm = {
      name: 'keyrail',
      role: 'subject',
      async measure({ round }) {
        const values: Record<string, number> = { admitted: 0, 'under-admitted': 0 }
        for (const [store, side] of Object.entries(sides)) {
          let over = 0
          for (const algorithm of ['fixed', 'sliding']) {
            const burst = await ask(side.urls, side.requests(WIDE_MS, algorithm), null)
            values.admitted = (values.admitted ?? 0) + burst.admitted / 4
            values['under-admitted'] = (values['under-admitted'] ?? 0) + burst.callersUnder
            over = burst.overAdmitted
            if (algorithm === 'fixed') values[`over, ${store} fixed`] = over
          }
          const rolled = await ask(side.urls, side.requests(ROLL_MS, 'sliding'), ROLL_MS)
          values[`over, ${store} sliding`] = over + rolled.overAdmitted
        }
        const fixed = await ask(flexible, checksOfPeer(), null)
        const sliding = await ask(upstash, checksOfPeer(), ROLL_MS)
        if (round > 0) {
          const errors = `rate-limiter-flexible, fixed: ${fixed.overAdmitted}; @upstash/ratelimit, sliding: ${sliding.overAdmitted}`
          run.note(`round ${round}: let through beyond the model by peers: ${errors}`)
        }
        return { values }
      },
    }
    const model: Arm = {
      name: 'exact model',
      role: 'control',
      measure: async () => ({ values: { admitted: CALLERS * LIMIT } }),
    }
    run.note(
      `${CALLERS} callers, a limit of ${LIMIT}, ${ATTEMPTS} attempts each, half of them through each process`,
    )
    run.note(`sliding: also the burst behind a window of ${ROLL_MS} ms that was spent to the last unit`)
    return [ours, model]
  },
}

const ask = (urls: [string, string], requests: HttpRequest[], rollMs: number | null) =>
  runGenerator<AccuracyPlan, AccuracyCounts>(new URL('service/accuracy-process.ts', import.meta.url).href, {
    urls,
    requests,
    limit: LIMIT,
    attempts: ATTEMPTS,
    rollMs,
  })

const checksOf =
  ({ token, projectId }: Vendor): Side['requests'] =>
  (window_ms, algorithm) =>
    Array.from({ length: CALLERS }, () => ({
      method: 'POST' as const,
      path: '/v1/ratelimit/check',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
      body: JSON.stringify({
        project_id: projectId,
        key_id: randomUUID(),
        env: 'live',
        limits: [{ id: 'bench', limit: LIMIT, window_ms, algorithm, scope: 'key' }],
      }),
    }))

const checksOfPeer = (): HttpRequest[] =>
  Array.from({ length: CALLERS }, () => ({
    method: 'POST' as const,
    path: '/check',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ key_id: randomUUID() }),
  }))

async function peers(
  run: BenchRun,
  redisUrl: string,
  peer: string,
  windowMs: number,
): Promise<[string, string]> {
  const one = async () => {
    const port = await freePort()
    const url = `http://127.0.0.1:${port}`
    const wanted = ['--peer', peer, '--limit', String(LIMIT), '--window-ms', String(windowMs)]
    await run.use(
      spawnServer({
        script: join(import.meta.dirname, 'service', 'accuracy-peer.ts'),
        args: ['--port', String(port), ...wanted],
        env: { REDIS_URL: redisUrl },
        ready: { url: `${url}/healthz` },
      }),
    )
    return url
  }
  return [await one(), await one()]
}
