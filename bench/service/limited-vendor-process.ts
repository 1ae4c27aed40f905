import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { RateLimiterRedis } from 'rate-limiter-flexible'
import { createLimiter } from '../../packages/sdk/src/limits/limit.ts'
import type { Valid } from '../../packages/sdk/src/verify/verdict.ts'

/**
 * The process of a vendor that limits requests of its customers: with our SDK, or with its own Redis. The requests begin in this
 * process, so that nothing but the limit costs CPU.
 */
export interface VendorPlan {
  keyIds: readonly string[]
  limiter: { redisUrl: string } | { url: string; token: string; projectId: string }
}

/** How requests come for some seconds: so many at once, each followed by another; or so many a second. */
export type VendorTurn = { seconds: number } & ({ inFlight: number } | { perSecond: number })

/** How many requests were decided. Each must be allowed. */
export type VendorTurnEnd = { decided: number } | { fault: string }

const windowMs = 60_000
const limit = 100_000_000

/** Of all keys. */
const tenantId = randomUUID()

/** Decides a request of the key with this number. */
type Decide = (key: number) => Promise<unknown>

const [plan] = (await once(process, 'message')) as [VendorPlan]
const decide = 'redisUrl' in plan.limiter ? ownRedis(plan.limiter) : ours(plan.limiter)
process.on('message', async (turn: VendorTurn) => {
  try {
    process.send?.({ decided: await run(turn) })
  } catch (error) {
    process.send?.({ fault: String(error) })
  }
})
process.send?.('ready')

function ownRedis({ redisUrl }: { redisUrl: string }): Decide {
  const storeClient = new Redis(redisUrl)
  const limiter = new RateLimiterRedis({ storeClient, points: limit, duration: windowMs / 1_000 })
  return key => limiter.consume(plan.keyIds[key] as string)
}

function ours({ url, token, projectId }: { url: string; token: string; projectId: string }): Decide {
  const limiter = createLimiter({ url, secretKey: token, project: projectId })
  const keys = plan.keyIds.map(
    (keyId): Valid => ({
      ...{ valid: true, code: 'valid', keyId, tenantId, env: 'live', scopes: [], expiresAt: null },
      rateLimits: [{ id: 'requests', limit, windowMs, algorithm: 'fixed', scope: 'key' }],
    }),
  )
  return async key => {
    const verdict = await limiter.limit(keys[key] as Valid)
    if (!verdict.allowed || verdict.source === undefined) throw new Error(`a request was ${verdict.code}`)
  }
}

async function run(turn: VendorTurn): Promise<number> {
  const end = performance.now() + turn.seconds * 1_000
  return 'inFlight' in turn ? await closedLoop(turn.inFlight, end) : await openLoop(turn.perSecond, end)
}

async function closedLoop(inFlight: number, end: number): Promise<number> {
  let sent = 0
  const customer = async () => {
    while (performance.now() < end) await decide(sent++ % plan.keyIds.length)
  }
  await Promise.all(Array.from({ length: inFlight }, customer))
  return sent
}

/** As many as the rate says, however late this process wakes. */
async function openLoop(perSecond: number, end: number): Promise<number> {
  const began = performance.now()
  const all: Promise<unknown>[] = []
  for (let now = began; now < end; now = performance.now()) {
    const due = ((now - began) / 1_000) * perSecond
    while (all.length < due) all.push(decide(all.length % plan.keyIds.length))
    await sleep(1)
  }
  await Promise.all(all)
  return all.length
}
