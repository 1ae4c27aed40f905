import { createHash, randomUUID } from 'node:crypto'
import { Redis } from 'ioredis'
import { serveGenerator } from '../harness/generator.ts'
import { HttpConnection } from '../harness/http-connection.ts'
import type { HttpRequest } from '../harness/request.ts'

/** One arm of the bench of stored answers: each client takes a key, stores 64 kB under it, and goes on. */
export type StoredPlan = { seconds: number; clients: number; bodyBytes: number } & (
  | { url: string; token: string }
  | { redisUrl: string }
)
export type StoredCounts = { perSecond: number; pairs: number; busy: number }

/** Takes a new key and stores the answer under it. @throws when either is refused */
type Client = () => Promise<void>

await serveGenerator<StoredPlan, StoredCounts>(async plan => {
  const body = Buffer.alloc(plan.bodyBytes, 'keyrail ').toString('base64')
  const clients = await Promise.all(
    Array.from({ length: plan.clients }, () =>
      'url' in plan
        ? overHttp(plan.url, plan.token, body)
        : overRedis(plan.redisUrl, Buffer.from(body, 'base64')),
    ),
  )
  const cpuBefore = process.cpuUsage()
  const began = performance.now()
  const deadline = began + plan.seconds * 1_000
  let pairs = 0
  await Promise.all(
    clients.map(async client => {
      while (performance.now() < deadline) {
        await client()
        pairs += 1
      }
    }),
  )
  const spentMs = performance.now() - began
  const { user, system } = process.cpuUsage(cpuBefore)
  return { perSecond: (pairs * 1_000) / spentMs, pairs, busy: (user + system) / 1_000 / spentMs }
})

async function overHttp(url: string, token: string, body: string): Promise<Client> {
  const connection = await HttpConnection.open(new URL(url))
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${token}` }
  const ask = (request: HttpRequest) =>
    new Promise<Record<string, unknown>>((resolve, reject) =>
      connection.request(
        request,
        ({ status, body: text }) =>
          status === 200 ? resolve(JSON.parse(text())) : reject(new Error(`${status} ${text()}`)),
        reject,
      ),
    )
  const post = (path: string, content: object) =>
    ask({ method: 'POST', path: `/v1/idempotency/${path}`, headers, body: JSON.stringify(content) })
  return async () => {
    const scope_hash = createHash('sha256').update(randomUUID()).digest('hex')
    const claim = await post('claim', { scope_hash, fingerprint: scope_hash, env: 'live' })
    if (claim.verdict !== 'execute') throw new Error(`a new claim got ${claim.verdict}`)
    const { lock_token } = claim
    const done = await post('complete', {
      scope_hash,
      env: 'live',
      lock_token,
      status: 200,
      headers: {},
      body,
    })
    if (done.verdict !== 'completed') throw new Error(`an answer got ${done.verdict}`)
  }
}

async function overRedis(url: string, body: Buffer): Promise<Client> {
  const client = new Redis(url)
  await client.ping()
  return async () => {
    const key = randomUUID()
    if ((await client.set(key, 'locked', 'PX', 30_000, 'NX')) !== 'OK') throw new Error('a new key was taken')
    if ((await client.set(key, body, 'PX', 86_400_000)) !== 'OK') throw new Error('an answer was not stored')
  }
}
