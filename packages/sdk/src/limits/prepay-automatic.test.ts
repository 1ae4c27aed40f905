import assert from 'node:assert/strict'
import { test } from 'node:test'
import { drawKey, id } from '../../test/keys.ts'
import { hourly, someKey } from '../../test/limited.ts'
import { startKeyrail } from '../../test/service.ts'
import type { RateLimit } from '../store/rate-limits.ts'
import { answerChecks } from '../testing/checks.ts'
import { createLimiter, type LimiterOptions, openLimiter } from './limit.ts'

type Answers = Record<string, (body: never) => object>

/** A limiter before a service that says how many nodes check. */
function limiterOn(nodes: () => unknown, more: LimiterOptions = {}) {
  let time = 0
  const real = answerChecks(() => time) as unknown as Answers
  const named: (string | null)[] = []
  const limiter = openLimiter(
    {
      url: 'https://keys.example.com',
      secretKey: drawKey('krsk_live'),
      project: id(3),
      async fetch(url, init) {
        named.push(new Headers(init?.headers).get('keyrail-node'))
        const answer = real[String(url).replace(/^.*\/v1\//, '')]?.(JSON.parse(String(init?.body)) as never)
        return Response.json({ ...answer, nodes: nodes() })
      },
      ...more,
    },
    { now: () => time },
  )
  /** @returns the calls that so many requests cost, one every 10 ms. */
  const callsOf = async (count: number, rateLimits: readonly RateLimit[], more: object = {}) => {
    const before = limiter.stats().calls
    for (let n = 0; n < count; n++) {
      time += 10
      assert.equal((await limiter.limit({ ...someKey, ...more, rateLimits })).code, 'allowed')
    }
    return limiter.stats().calls - before
  }
  return { limiter, named, callsOf }
}

test('limits of 1,000 units a window for each node are charged ahead, and smaller ones are not', async () => {
  for (const [nodes, limit, isAhead] of [
    [1, 1_000, true],
    [1, 999, false],
    [3, 3_000, true],
    [3, 2_999, false],
  ] as const) {
    const { callsOf } = limiterOn(() => nodes)
    const calls = await callsOf(300, [hourly(limit)])
    assert.equal(calls < 60, isAhead, `${limit} for ${nodes}: ${calls} calls`)
    if (!isAhead) assert.equal(calls, 300)
  }
})

test('a key with a small limit beside a large one costs a call for each request', async () => {
  const { callsOf } = limiterOn(() => 1)
  assert.equal(await callsOf(100, [hourly(100_000), hourly(900, { id: 'small' })]), 100)
})

test('nothing is charged ahead where the service does not say how many nodes check', async () => {
  for (const nodes of [undefined, null, 0, -1, 0.5, 'one', []]) {
    const { callsOf } = limiterOn(() => nodes)
    assert.equal(await callsOf(50, [hourly(100_000)]), 50, `${nodes}`)
  }
})

test('nodes are counted by environment, and as the service said last', async () => {
  let nodes = 1
  const { callsOf } = limiterOn(() => nodes)
  const isAhead = async (more: object = {}) => (await callsOf(300, [hourly(2_000)], more)) < 100
  assert.equal(await isAhead(), true)
  nodes = 3
  assert.equal(await isAhead({ env: 'test' }), false)
  assert.equal(await isAhead(), false)
  nodes = 2
  assert.equal(await isAhead(), true)
  assert.equal(await isAhead({ env: 'test' }), true)
})

test('the node is named while nobody has chosen, and one for all limiters of a process', async () => {
  const named = async (more: LimiterOptions) => {
    const { callsOf, named } = limiterOn(() => 1, more)
    await callsOf(3, [hourly(10)])
    return [...new Set(named)]
  }
  const [node, ...more] = await named({})
  assert.match(String(node), /^[A-Za-z0-9._:-]{1,128}$/)
  assert.deepEqual([more, await named({})], [[], [node]])
  for (const prepay of [false, {}] as const) assert.deepEqual(await named({ prepay }), [null])
})

test('`prepay: false` asks about each request', async () => {
  const { callsOf } = limiterOn(() => 1, { prepay: false })
  assert.equal(await callsOf(100, [hourly(100_000)]), 100)
})

test('a hot key costs few calls of the service by default, and never more pass than its limit', async () => {
  const { settings, vendor } = await startKeyrail()
  const [one, two] = [createLimiter(settings), createLimiter({ ...settings, prepay: false })]
  const key = {
    ...someKey,
    tenantId: vendor.tenantId,
    rateLimits: [hourly(1_000, { windowMs: 2_678_400_000 })],
  }
  let passed = 0
  for (let n = 0; n < 1_200; n++) {
    const { allowed } = await (n % 3 === 0 ? two : one).limit(key)
    passed += Number(allowed)
  }
  const { unitsHeld, calls } = one.stats()
  assert.ok(calls < 500, `${calls} calls`)
  assert.ok(passed <= 1_000 && passed + unitsHeld >= 1_000, `${passed} passed, ${unitsHeld} held`)
})
