import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CheckedFleet, type Fate } from '../../test/checked-fleet.ts'
import { id } from '../../test/keys.ts'
import { hourly, someKey } from '../../test/limited.ts'
import { awakeNow } from './awake-now.ts'
import type { LimiterOptions } from './limit.ts'

/** What becomes of units when calls, clocks and services fail. */

const minute = (limit: number, more: Parameters<typeof hourly>[1] = {}) =>
  hourly(limit, { id: 'minute', windowMs: 60_000, ...more })
const keyWith = (...rateLimits: ReturnType<typeof hourly>[]) => ({ ...someKey, rateLimits })
const key = keyWith(minute(10_000))

function oneNode(options: Partial<LimiterOptions> = {}, clock?: () => number) {
  const call = { fate: 'answered' as Fate, thereMs: 0, backMs: 0 }
  const fleet = new CheckedFleet(() => ({ ...call }))
  const limiter = fleet.openNode({ timeoutMs: 60_000, ...options }, clock)
  /** Asks until the server holds units. */
  const warm = async (of = key) => {
    for (let n = 0; limiter.stats().unitsHeld < 10; n++) {
      assert.ok(n < 1_000)
      await fleet.ask(limiter, of)
    }
  }
  const ask = (of = key) => fleet.ask(limiter, of)
  return { call, fleet, limiter, warm, ask }
}

test('units end with their window', async () => {
  for (const algorithm of ['fixed', 'sliding']) {
    const { fleet, limiter, warm, ask } = oneNode()
    const of = keyWith(minute(10_000, { algorithm }))
    await warm(of)
    const { unitsHeld } = limiter.stats()
    await fleet.advance(59_999)
    assert.equal((await ask(of)).source, 'prepaid')
    await fleet.advance(1)
    assert.equal(limiter.stats().unitsHeld, 0)
    assert.equal(limiter.stats().unitsUnused, unitsHeld - 1)
    assert.equal((await ask(of)).source, 'service')
  }
})

test('an answer that comes after its window lets its request pass, and brings no units', async () => {
  const { call, fleet, limiter, warm, ask } = oneNode()
  await warm()
  while ((await ask()).source === 'prepaid');
  const { unitsHeld } = limiter.stats()
  for (let n = 0; n < unitsHeld; n++) await ask()
  Object.assign(call, { thereMs: 1, backMs: 60_000 })
  const late = ask()
  await fleet.advance(60_001)
  assert.deepEqual([(await late).code, (await late).source], ['allowed', 'service'])
  assert.equal(limiter.stats().unitsHeld, 0)
})

test('a lost answer loses its units and is not repeated: who waited for them asks for itself', async () => {
  const { call, fleet, limiter, warm, ask } = oneNode()
  await warm()
  for (let held = limiter.stats().unitsHeld; held > 0; held--) await ask()
  Object.assign(call, { fate: 'unanswered', backMs: 20_000 })
  const lost = ask()
  await fleet.advance(0)
  const units = fleet.bodies.at(-1)?.cost ?? 0
  assert.ok(units > 10)
  Object.assign(call, { fate: 'answered', backMs: 5 })
  const { length } = fleet.bodies
  const others = [ask(), ask()]
  await fleet.advance(0)
  assert.equal(fleet.bodies.length, length, 'they wait')
  await fleet.advance(20_005)
  assert.equal((await lost).code, 'limits_unavailable')
  assert.deepEqual(
    (await Promise.all(others)).map(({ code, source }) => [code, source]),
    [
      ['allowed', 'service'],
      ['allowed', 'service'],
    ],
  )
  assert.deepEqual([fleet.bodies.length, limiter.stats().unitsUnused], [length + 2, units])
})

test('in an outage requests pass while there are units, and then onUnavailable decides', async () => {
  for (const [onUnavailable, code] of [
    ['deny', 'limits_unavailable'],
    ['allow', 'unchecked'],
  ] as const) {
    const { call, limiter, warm, ask } = oneNode({ onUnavailable })
    await warm()
    call.fate = 'lost'
    for (let held = limiter.stats().unitsHeld; held > 0; held--) assert.equal((await ask()).source, 'prepaid')
    assert.deepEqual([(await ask()).code, (await ask()).source], [code, undefined])
    call.fate = 'answered'
    assert.equal((await ask()).code, 'allowed')
  }
})

test('a request refused for want of one answer gives back the units of other limits', async () => {
  for (const [onUnavailable, taken] of [
    ['deny', 0],
    ['allow', 1],
  ] as const) {
    const { call, limiter, warm, ask } = oneNode({ onUnavailable })
    await warm()
    const { unitsHeld } = limiter.stats()
    call.fate = 'lost'
    await ask(keyWith(minute(10_000), hourly(5)))
    assert.equal(limiter.stats().unitsHeld, unitsHeld - taken)
  }
})

test('a service that sends no numbers is asked for every request, as before', async () => {
  const { fleet, limiter, warm, ask } = oneNode()
  const old = ({ limits: _, ...answer }: object & { limits?: unknown }) => answer
  fleet.edit = old
  for (let n = 0; n < 30; n++) {
    const { source, limits, headers } = await ask()
    assert.deepEqual([source, limits], ['service', undefined])
    assert.equal(headers.ratelimit, `"minute";r=${9_999 - n};t=60`)
  }
  assert.ok(fleet.bodies.every(({ cost }) => cost === 1))
  // It is replaced, and put back: at most one purchase brings nothing.
  fleet.edit = answer => answer
  await warm()
  fleet.edit = old
  for (let held = limiter.stats().unitsHeld; held > 0; held--) await ask()
  fleet.bodies.splice(0)
  for (let n = 0; n < 30; n++) assert.equal((await ask()).code, 'allowed')
  assert.deepEqual(
    fleet.bodies.slice(1).map(({ cost }) => cost),
    Array.from({ length: 29 }, () => 1),
  )
})

test('odd numbers are not believed', async () => {
  for (const wrong of [
    'x',
    [null],
    [],
    [{ id: 'other', remaining: 1, reset_ms: 1 }],
    [{ id: 'minute', remaining: -1, reset_ms: 1 }],
    [{ id: 'minute', remaining: 1, reset_ms: '1' }],
    [{ id: 'minute', remaining: 1e300, reset_ms: 1 }],
  ]) {
    const { fleet, ask } = oneNode()
    fleet.edit = answer => ({ ...answer, limits: wrong })
    for (let n = 0; n < 10; n++)
      assert.deepEqual([(await ask()).limits, fleet.bodies.length], [undefined, n + 1])
  }
  // A window longer than the limit's does not keep units.
  const { fleet, limiter, warm } = oneNode()
  fleet.edit = answer => ({
    ...answer,
    limits: (answer as { limits: object[] }).limits.map(each => ({ ...each, reset_ms: 9e9 })),
  })
  await warm()
  await fleet.advance(60_000)
  assert.equal(limiter.stats().unitsHeld, 0)
})

test('limits of a kind that this version does not know are charged for every request', async () => {
  const { fleet, ask } = oneNode()
  const of = keyWith(minute(1_000), minute(1_000, { id: 'new', algorithm: 'bucket' }))
  fleet.edit = answer => answer
  for (let n = 0; n < 20; n++) await ask(of)
  assert.deepEqual(
    fleet.bodies.map(({ cost, limits }) => [cost, limits.length]),
    Array.from({ length: 20 }, () => [1, 2]),
  )
})

test('a changed limit is asked about at once, and never uses the units of the old one', async () => {
  const { fleet, warm, ask } = oneNode()
  await warm()
  const { charged } = fleet
  const lowered = keyWith(minute(charged + 2))
  const codes = []
  for (let n = 0; n < 4; n++) codes.push((await ask(lowered)).code)
  assert.deepEqual(codes, ['allowed', 'allowed', 'rate_limited', 'rate_limited'])
})

test('a suspended server uses no units of a window that is over, whatever its clocks say', async () => {
  const wall = { ms: 1e12 }
  const now = awakeNow(
    () => 0,
    () => wall.ms,
  )
  const { limiter, warm, ask } = oneNode({}, now)
  await warm()
  wall.ms -= 3_600_000
  assert.equal((await ask()).source, 'prepaid')
  wall.ms += 60_000
  assert.equal(limiter.stats().unitsHeld, 0)
  assert.equal((await ask()).source, 'service')
})

test('10,000 counters are kept: the least recently used one is dropped with its units', async () => {
  const { limiter, warm, ask } = oneNode()
  await warm()
  const { unitsHeld } = limiter.stats()
  for (let n = 0; n < 20_000; n++) {
    await limiter.limit({ ...someKey, keyId: id(n + 10), rateLimits: [minute(10_000)] })
    if (n === 9_000) assert.equal((await ask()).source, 'prepaid')
  }
  const stats = limiter.stats()
  assert.equal(stats.counters, 10_000)
  assert.equal(stats.unitsUnused, unitsHeld - 1)
  assert.equal((await ask()).source, 'service')
})
