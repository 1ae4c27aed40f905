import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CheckedFleet } from '../../test/checked-fleet.ts'
import { id } from '../../test/keys.ts'
import { hourly, someKey } from '../../test/limited.ts'
import type { LimiterOptions } from './limit.ts'

/** What a server does with units, on a service that answers at once. */

const atOnce = () => ({ fate: 'answered', thereMs: 0, backMs: 0 }) as const
const minute = (limit: number, more: Parameters<typeof hourly>[1] = {}) =>
  hourly(limit, { id: 'minute', windowMs: 60_000, ...more })
const keyWith = (...rateLimits: ReturnType<typeof hourly>[]) => ({ ...someKey, rateLimits })

function oneNode(options: Partial<LimiterOptions> = {}) {
  const fleet = new CheckedFleet(atOnce)
  const limiter = fleet.openNode(options)
  const ask = (key = keyWith(minute(10_000)), cost = 1) => fleet.ask(limiter, key, cost)
  /** What the calls since the last time asked for. */
  const asked = () =>
    fleet.bodies.splice(0).map(({ cost, limits }) => [limits.map(({ id }) => id).join(), cost])
  return { fleet, limiter, ask, asked }
}

test('a busy key passes with few calls, and its numbers fall by one with each request', async () => {
  const { fleet, limiter, ask } = oneNode()
  const sources: Record<string, number> = {}
  for (let n = 0; n < 2_000; n++) {
    const verdict = await ask()
    sources[String(verdict.source)] = (sources[String(verdict.source)] ?? 0) + 1
    const remaining = 9_999 - n
    const resetMs = 60_000 - fleet.now
    assert.deepEqual(verdict, {
      ...{ allowed: true, code: 'allowed', source: verdict.source },
      headers: {
        'ratelimit-policy': '"minute";q=10000;w=60',
        ratelimit: `"minute";r=${remaining};t=${Math.ceil(resetMs / 1_000)}`,
      },
      limits: [{ id: 'minute', remaining, resetMs }],
    })
    await fleet.advance(5)
  }
  const { calls, requests, counters } = limiter.stats()
  assert.deepEqual(requests, { service: calls, prepaid: 2_000 - calls, remembered: 0 })
  assert.deepEqual(sources, { service: calls, prepaid: 2_000 - calls })
  assert.ok(calls < 40, `${calls} calls`)
  assert.equal(counters, 1)
})

test('without `prepay` every request is one call, which says what is left', async () => {
  const { ask, asked } = oneNode({ prepay: undefined })
  for (const remaining of [9_999, 9_998, 9_997]) {
    const { source, limits, headers } = await ask()
    assert.deepEqual([source, limits?.[0]?.remaining], ['service', remaining])
    assert.match(headers.ratelimit ?? '', new RegExp(`;r=${remaining};`))
  }
  assert.deepEqual(
    asked(),
    Array.from({ length: 3 }, () => ['minute', 1]),
  )
})

test('two limits are asked about together while they are idle, and charged ahead one by one', async () => {
  const { fleet, ask, asked } = oneNode()
  const key = keyWith(minute(1_000), hourly(100_000, { scope: 'tenant' }))
  await ask(key)
  assert.deepEqual(asked(), [['minute,hour', 1]])
  for (let n = 0; n < 300; n++) {
    await ask(key)
    await fleet.advance(10)
  }
  const calls = asked()
  assert.ok(calls.length < 60 && calls.every(([ids]) => ids === 'minute' || ids === 'hour'), calls.join('; '))
  assert.ok(calls.some(([, cost]) => Number(cost) > 20))
})

test('units of a request that another limit refuses are kept for the next', async () => {
  const { fleet, limiter, ask } = oneNode()
  const [small, large] = [minute(3, { id: 'small' }), minute(1_000)]
  for (let n = 0; n < 10; n++) await ask(keyWith(large))
  const held = () => limiter.stats().unitsHeld
  for (let n = 0; n < 3; n++) assert.equal((await ask(keyWith(small, large))).allowed, true)
  const before = [held(), fleet.charged]
  for (let n = 0; n < 5; n++) {
    const { code, limits } = await ask(keyWith(small, large))
    assert.equal(code, 'rate_limited')
    assert.equal(limits?.[0]?.remaining, 0)
  }
  assert.deepEqual([held(), fleet.charged], before)
  assert.equal(limiter.stats().requests.remembered, 4)
})

test('the last unit passes, and then denials need no call until units can be left', async () => {
  const { fleet, limiter, ask } = oneNode()
  const key = keyWith(minute(100))
  let passed = 0
  for (let n = 0; n < 400; n++) if ((await ask(key)).allowed) passed++
  assert.deepEqual([passed, fleet.charged, limiter.stats().unitsHeld], [100, 100, 0])
  const { calls } = limiter.stats()
  await fleet.advance(59_999)
  const denied = await ask(key)
  assert.ok(!denied.allowed)
  assert.deepEqual([denied.source, denied.problem.headers['retry-after']], ['remembered', '1'])
  assert.deepEqual(
    [denied.headers.ratelimit, denied.limits],
    ['"minute";r=0;t=1', [{ id: 'minute', remaining: 0, resetMs: 1 }]],
  )
  assert.equal(limiter.stats().calls, calls)
  await fleet.advance(1)
  assert.equal((await ask(key)).allowed, true)
})

test('a purchase that is denied takes what is left', async () => {
  const { fleet, ask, asked } = oneNode()
  const other = fleet.openNode({ prepay: undefined })
  const key = keyWith(minute(100))
  for (let n = 0; n < 40; n++) await ask(key)
  const held = (await ask(key)).limits?.[0]?.remaining ?? 0
  // Others take all but three.
  while (((await fleet.ask(other, key)).limits?.[0]?.remaining ?? 0) > 3);
  asked()
  let passed = 0
  while ((await ask(key)).allowed) passed++
  assert.ok(passed >= 3 && passed <= held)
  assert.equal(asked().at(-1)?.[1], 1)
  assert.equal(fleet.charged, 100)
})

test('costs are taken from units, and cost 0 asks the service and takes none', async () => {
  const { limiter, ask, asked } = oneNode()
  const key = keyWith(minute(1_000))
  for (let n = 0; n < 20; n++) await ask(key, 5)
  assert.ok(asked().length < 10)
  const { unitsHeld } = limiter.stats()
  const look = await ask(key, 0)
  assert.deepEqual([look.source, look.limits?.[0]?.remaining], ['service', 900])
  assert.deepEqual([asked(), limiter.stats().unitsHeld], [[['minute', 0]], unitsHeld])
})

test('keys of a tenant share units of its limit; another limit, key or environment has its own', async () => {
  const { ask, asked } = oneNode()
  const shared = keyWith(minute(1_000, { scope: 'tenant' }))
  for (let n = 0; n < 20; n++) await ask(shared)
  asked()
  assert.equal((await ask({ ...shared, keyId: id(9) })).source, 'prepaid')
  for (const other of [
    { ...shared, tenantId: id(8) },
    { ...shared, env: 'test' as const },
    keyWith(minute(1_001, { scope: 'tenant' })),
    keyWith(minute(1_000)),
  ])
    assert.equal((await ask(other)).source, 'service')
  assert.deepEqual(
    asked().map(([, cost]) => cost),
    [1, 1, 1, 1],
  )
})

test('maxUnits bounds what is held, and maxAgeMs for how much demand', async () => {
  for (const [prepay, most] of [
    [{ maxUnits: 7 }, 7],
    [{ maxAgeMs: 10 }, 30],
    [{}, 1_000],
  ] as const) {
    const { fleet, limiter, ask } = oneNode({ prepay })
    let held = 0
    for (let n = 0; n < 2_000; n++) {
      await ask(keyWith(minute(1_000_000)))
      held = Math.max(held, limiter.stats().unitsHeld)
      if (n % 2 === 1) await fleet.advance(1)
    }
    assert.ok(held > 4 && held <= most, `${held}`)
  }
})

test('a wrong option names itself', () => {
  for (const [prepay, named] of [
    [{ maxUnits: 0 }, 'prepay.maxUnits'],
    [{ maxUnits: 1_001 }, 'prepay.maxUnits'],
    [{ maxAgeMs: 0.5 }, 'prepay.maxAgeMs'],
    [{ maxAge: 1 }, 'maxAge'],
    [true, 'prepay'],
    [null, 'prepay'],
  ] as [never, string][])
    assert.throws(
      () => oneNode({ prepay }),
      (error: Error) => error instanceof TypeError && error.message.includes(named),
    )
})
