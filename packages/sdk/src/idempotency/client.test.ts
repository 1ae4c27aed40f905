import assert from 'node:assert/strict'
import { test } from 'node:test'
import { drawKey } from '../../test/keys.ts'
import { createHttpCaller } from '../http/call.ts'
import { answerClaims } from '../testing/claims.ts'
import { createIdempotencyClient } from './client.ts'

type Body = { calls?: Record<string, { scope_hash: string }>[] }
type Answers = Record<string, (body: Body) => object>

/** A client before a service that answers with `answer`, or else as the real one. */
function clientOn(
  answer: (path: string, real: () => object) => object | Promise<never> = (_, real) => real(),
) {
  const real = answerClaims(() => 0) as unknown as Answers
  const calls: { path: string; body: Body }[] = []
  let time = 0
  const call = createHttpCaller({
    url: new URL('https://keys.example.com'),
    secretKey: drawKey('krsk_live'),
    async fetch(url, init) {
      const path = String(url).replace(/^.*\/v1\/idempotency\//, '')
      const body = JSON.parse(String(init?.body))
      calls.push({ path, body })
      const said = await answer(path, () => real[`idempotency/${path}`]?.(body) ?? {})
      return Response.json(said, { status: (said as { status?: number }).status ?? 200 })
    },
  })
  const later = (work: () => void) => void setImmediate(work)
  const client = createIdempotencyClient({ call, timeoutMs: 1_000, now: () => time, later })
  const paths = () => calls.splice(0).map(({ path }) => path)
  return {
    client,
    calls,
    paths,
    pass(ms: number) {
      time += ms
    },
  }
}

const scope = (n: number) => n.toString(16).padStart(64, '0')
const bodyOf = (n: number) => ({ scope_hash: scope(n), env: 'live', fingerprint: scope(0) }) as const
const heldOf = (n: number, lock_token: string) => ({ scope_hash: scope(n), env: 'live', lock_token }) as const
const numbers = Array.from({ length: 20 }, (_, n) => n)
type Client = ReturnType<typeof clientOn>['client']

async function claimAll(client: Client): Promise<string[]> {
  const claims = await Promise.all(numbers.map(n => client.claim(bodyOf(n))))
  return claims.map(claim => (claim.verdict === 'execute' ? claim.lockToken : claim.verdict))
}

test('the claims of one turn are one call, and so are their ends; one is a call by itself', async () => {
  const { client, calls, paths } = clientOn()
  const tokens = await claimAll(client)
  const listed = calls[0]?.body.calls?.map(({ claim }) => claim?.scope_hash)
  assert.deepEqual(listed, numbers.map(scope))
  const ends = await Promise.all(
    tokens.map((token, n) => {
      const held = heldOf(n, token)
      if (n === 0) return client.release(held)
      return n === 1 ? client.heartbeat(held) : client.complete({ ...held, status: 200, body: 'b2s=' })
    }),
  )
  assert.deepEqual([...new Set(ends)], ['released', 'extended', 'completed'])
  assert.equal((await client.claim(bodyOf(2))).verdict, 'replay')
  assert.deepEqual(paths(), ['claims', 'claims', 'claim'])
})

test('a large answer is completed by itself, and replayed by a claim by itself', async () => {
  const { client, paths } = clientOn((path, real) => {
    if (path !== 'claims') return real()
    const { calls, ...rest } = real() as { calls: { verdict?: string; object?: string }[] }
    const alone = (call: object) => ({ ...call, verdict: 'replay_alone', response: undefined })
    return { ...rest, calls: calls.map(call => (call.verdict === 'replay' ? alone(call) : call)) }
  })
  const tokens = await claimAll(client)
  const body = 'A'.repeat(16 * 1024 + 4)
  await Promise.all(
    [1, 2].map(n =>
      client.complete({ ...heldOf(n, tokens[n] as string), status: 200, body: n === 1 ? body : 'b2s=' }),
    ),
  )
  const [large, other] = await Promise.all([1, 3].map(n => client.claim(bodyOf(n))))
  assert.ok(large?.verdict === 'replay' && large.answer.body.byteLength === (body.length / 4) * 3)
  assert.equal(other?.verdict, 'in_progress')
  assert.deepEqual(paths(), ['claims', 'complete', 'complete', 'claims', 'claim'])
})

test('a service without lists is asked one by one, and about lists again a minute later', async () => {
  const missing = { code: 'route_not_found', status: 404 }
  const { client, paths, pass } = clientOn((path, real) => (path === 'claims' ? missing : real()))
  const singles = numbers.map(() => 'claim')
  assert.equal(new Set(await claimAll(client)).size, numbers.length)
  assert.deepEqual(paths(), ['claims', ...singles])
  await claimAll(client)
  assert.deepEqual(paths(), singles)
  pass(60_000)
  await claimAll(client)
  assert.deepEqual(paths(), ['claims', ...singles])
})

test('one that is refused costs itself, a list without a usable answer all of its calls', async () => {
  const error = { code: 'unavailable', status: 503, detail: 'Later.' }
  const { client } = clientOn((_, real) => {
    const { calls, ...rest } = real() as { calls: object[] }
    return { ...rest, calls: calls.map((call, at) => (at === 3 ? { error } : call)) }
  })
  const settle = (client: Client) => Promise.allSettled(numbers.map(n => client.claim(bodyOf(n))))
  const refused = await settle(client)
  assert.deepEqual(
    refused.flatMap((end, at) =>
      end.status === 'rejected' ? [[at, end.reason.code, end.reason.retryable]] : [],
    ),
    [[3, 'unavailable', true]],
  )
  for (const unusable of [
    () => Promise.reject(new TypeError('fetch failed')),
    () => ({ object: 'idempotency_calls', calls: [] }),
    () => ({ object: 'idempotency_calls', calls: numbers }),
    () => ({ code: 'unavailable', status: 503 }),
  ]) {
    const { client, calls } = clientOn(unusable)
    assert.ok((await settle(client)).every(({ status }) => status === 'rejected'))
    assert.equal(calls.length, 1, 'nothing is asked twice')
  }
})
