import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CheckedFleet, type Fate } from '../../test/checked-fleet.ts'
import { hourly, someKey } from '../../test/limited.ts'

/** What is bought in the background, and who waits for it. */

const key = { ...someKey, rateLimits: [hourly(100_000, { id: 'minute', windowMs: 60_000 })] }

/** A server with a busy key: a request each ms, and answers after 20 ms. */
async function busyNode() {
  const call = { fate: 'answered' as Fate, thereMs: 10, backMs: 10 }
  const fleet = new CheckedFleet(() => ({ ...call }))
  const limiter = fleet.openNode({ timeoutMs: 60_000 })
  const ask = () => fleet.ask(limiter, key)
  const askFor = async (milliseconds: number) => {
    const verdicts = []
    for (let n = 0; n < milliseconds; n++) {
      verdicts.push(ask())
      await fleet.advance(1)
    }
    return verdicts
  }
  await askFor(15_000)
  return { call, fleet, limiter, ask, askFor }
}

test('units are bought before the last is used, one purchase at a time, while requests come', async () => {
  const { fleet, limiter, askFor } = await busyNode()
  const { length } = fleet.bodies
  let least = Number.POSITIVE_INFINITY
  for (let n = 0; n < 5_000; n++) {
    const [verdict] = await askFor(1)
    assert.equal((await verdict)?.source, 'prepaid')
    least = Math.min(least, limiter.stats().unitsHeld)
  }
  const bought = fleet.bodies.length - length
  assert.ok(least > 0 && bought > 3 && bought < 15, `${least} units, ${bought} purchases`)
  await fleet.advance(60_000)
  assert.equal(fleet.bodies.length, length + bought)
})

test('a request without a unit waits for those on their way, and makes no call', async () => {
  const { fleet, limiter, ask } = await busyNode()
  for (let held = limiter.stats().unitsHeld; held > 0; held--) void ask()
  await fleet.advance(0)
  const { length } = fleet.bodies
  const waiting = Array.from({ length: 20 }, ask)
  await fleet.advance(20)
  for (const { allowed, source } of await Promise.all(waiting))
    assert.deepEqual([allowed, source], [true, 'prepaid'])
  assert.equal(fleet.bodies.length, length)
})

test('while calls get no answer nothing is bought ahead, and no request waits for another', async () => {
  const { call, fleet, limiter, ask, askFor } = await busyNode()
  call.fate = 'lost'
  while (limiter.stats().unitsHeld > 0) await askFor(1)
  await fleet.advance(20)
  const { length } = fleet.bodies
  const alone = Array.from({ length: 20 }, ask)
  await fleet.advance(0)
  assert.ok(fleet.bodies.length > length)
  await fleet.advance(1_000)
  await Promise.all(alone)
  const before = fleet.bodies.length
  void Array.from({ length: 20 }, ask)
  await fleet.advance(0)
  assert.equal(fleet.bodies.length, before + 20)
  assert.ok(fleet.bodies.slice(before).every(({ cost }) => cost === 1))
  await fleet.advance(1_000)
  // One answer, and units are bought ahead again.
  call.fate = 'answered'
  await askFor(100)
  assert.ok(limiter.stats().unitsHeld > 0)
})
