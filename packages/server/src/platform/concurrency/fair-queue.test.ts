import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { FairQueue, type Turn } from './fair-queue.ts'

type Step = { do: 'take'; party: string } | { do: 'end'; pick: number } | { do: 'cancel'; pick: number }

const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    {
      weight: 5,
      arbitrary: fc.record({ do: fc.constant('take' as const), party: fc.constantFrom(...'aaaabbcd') }),
    },
    { weight: 4, arbitrary: fc.record({ do: fc.constant('end' as const), pick: fc.nat() }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('cancel' as const), pick: fc.nat() }) },
  ),
  { maxLength: 200, size: 'max' },
)
const limits = fc
  .record({
    places: fc.integer({ min: 1, max: 6 }),
    half: fc.boolean(),
    waitingOfOne: fc.integer({ min: 0, max: 12 }),
  })
  .map(({ places, half, waitingOfOne }) => ({
    places,
    placesOfOne: half ? Math.max(1, Math.floor(places / 2)) : places,
    waitingOfOne,
  }))

interface Caller {
  readonly party: string
  readonly turn: Turn
  hasCome: boolean
  /** The places given to others while its party could have had one, and the number of waiters when it arrived. */
  passed: number
  patience: number
}

test('every waiter gets a turn, no party exceeds its share, and no usable place stays free', async () => {
  await fc.assert(
    fc.asyncProperty(limits, steps, async (limit, taken) => {
      const queue = new FairQueue(limit)
      const inside = new Set<Caller>()
      const waiting: Caller[] = []
      const holdingOf = (party: string) => [...inside].filter(one => one.party === party).length
      const waitingOf = (party: string) => waiting.filter(one => one.party === party).length
      const mayHave = (party: string) => holdingOf(party) < limit.placesOfOne

      /** The places taken since the last look. Each one passes by the waiters whose party could have had it. */
      const look = async () => {
        await Promise.resolve()
        for (let i = 0; i < waiting.length; ) {
          const one = waiting[i] as Caller
          if (!one.hasCome) {
            i += 1
            continue
          }
          assert.equal(
            waiting.slice(0, i).some(other => other.party === one.party),
            false,
            'first come, first served',
          )
          waiting.splice(i, 1)
          for (const other of waiting) if (mayHave(other.party)) other.passed += 1
          inside.add(one)
        }
        assert.ok(inside.size <= limit.places)
        for (const party of 'abcd') assert.ok(holdingOf(party) <= limit.placesOfOne)
        if (inside.size < limit.places) for (const one of waiting) assert.equal(mayHave(one.party), false)
        for (const one of waiting) assert.ok(one.passed <= one.patience, `${one.passed} > ${one.patience}`)
        const parties = new Set(waiting.map(one => one.party)).size
        assert.deepEqual(queue.depth(), { waiting: waiting.length, parties })
      }

      for (const step of taken) {
        if (step.do === 'take') {
          const before = waitingOf(step.party)
          const turn = queue.take(step.party)
          if (turn === null) {
            assert.equal(before, limit.waitingOfOne)
            continue
          }
          // One turn of each of four parties for every caller of the same party before it, and for itself.
          const one: Caller = {
            party: step.party,
            turn,
            hasCome: false,
            passed: 0,
            patience: 4 * (before + 1),
          }
          if (turn.come === null) inside.add(one)
          else {
            waiting.push(one)
            void turn.come.then(() => {
              one.hasCome = true
            })
          }
        } else {
          const from = step.do === 'end' ? [...inside] : waiting
          const one = from[step.pick % from.length]
          if (one === undefined) continue
          if (step.do === 'end') inside.delete(one)
          else waiting.splice(waiting.indexOf(one), 1)
          one.turn.end()
          one.turn.end()
        }
        await look()
      }
      for (const one of waiting.splice(0)) one.turn.end()
      for (const one of inside) one.turn.end()
      assert.deepEqual(queue.depth(), { waiting: 0, parties: 0 })
      const again = Array.from({ length: limit.places }, (_, i) => queue.take(`fresh ${i}`))
      assert.ok(
        again.every(turn => turn?.come === null),
        'every place is free again',
      )
    }),
    { numRuns: 500 },
  )
})

test('a flood delays a newcomer by one turn', async () => {
  const queue = new FairQueue({ places: 4, placesOfOne: 2, waitingOfOne: 300 })
  const flood = Array.from({ length: 300 }, () => queue.take('flood') as Turn)
  assert.equal(flood.filter(({ come }) => come === null).length, 2)
  assert.equal(queue.take('other')?.come, null)
  assert.equal(queue.take('third')?.come, null)
  const fourth = queue.take('fourth') as Turn
  assert.notEqual(fourth.come, null)
  flood[0]?.end()
  flood[1]?.end()
  await fourth.come
})

test('a party that has filled its queue blocks no other, and none of its smaller names', async () => {
  const queue = new FairQueue({ places: 1, placesOfOne: 1, waitingOfOne: 10 })
  const large = { path: ['large'] }
  const flood = Array.from({ length: 11 }, () => queue.take('flood', large) as Turn)
  assert.ok(!flood.includes(null as unknown as Turn))
  assert.equal(queue.take('flood', large), null)
  const newest = assert.rejects(flood.at(-1)?.come ?? Promise.resolve(), { code: 'too_many_in_flight' })
  assert.notEqual(queue.take('flood', { path: ['small'] }), null)
  await newest
  for (let i = 0; i < 30; i++) assert.notEqual(queue.take(`newcomer ${i}`), null)
})

test('a party takes less while others are active, and its whole share a second later', async () => {
  let now = 0
  const queue = new FairQueue(
    { places: 10, placesOfOne: 5, besideOthers: { places: 2, slowMs: 60_000 }, waitingOfOne: 100 },
    () => now,
  )
  const flood: Turn[] = []
  for (let i = 0; i < 20; i++) {
    const turn = queue.take('flood') as Turn
    if (turn.come === null) flood.push(turn)
    else void turn.come.then(() => flood.push(turn))
  }
  const endOne = async () => {
    flood.shift()?.end()
    await Promise.resolve()
  }
  await endOne()
  assert.equal(flood.length, 5, 'alone, it has its whole share')
  const other = queue.take('other') as Turn
  assert.equal(other.come, null, 'there is a place for another party')
  for (let i = 0; i < 3; i++) await endOne()
  assert.equal(flood.length, 2, 'it does not take back what it ends')
  await endOne()
  assert.equal(flood.length, 2, 'beyond its smaller share')
  other.end()
  now = 1_000
  await endOne()
  assert.equal(flood.length, 5, 'once it is alone, it has its whole share')
})

test('beside others, a party’s slow work frees its place, up to its whole share', async t => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  let now = 0
  const queue = new FairQueue(
    { places: 10, placesOfOne: 3, besideOthers: { places: 1, slowMs: 50 }, waitingOfOne: 100 },
    () => now,
  )
  const pass = async (ms: number) => {
    now += ms
    t.mock.timers.tick(ms)
    await Promise.resolve()
  }
  queue.take('other')?.end()
  let held = 0
  const turns = Array.from({ length: 5 }, () => queue.take('slow') as Turn)
  for (const turn of turns) {
    if (turn.come === null) held += 1
    else void turn.come.then(() => held++)
  }
  assert.equal(held, 1)
  await pass(49)
  assert.equal(held, 1, 'the first one is not slow yet')
  await pass(1)
  assert.equal(held, 2)
  await pass(50)
  assert.equal(held, 3)
  await pass(500)
  assert.equal(held, 3, 'its whole share is the limit')
  for (const turn of turns) turn.end()
  assert.deepEqual(queue.depth(), { waiting: 0, parties: 0 })
})

test('within a party its names take turns, and minor callers get a quarter', async () => {
  const queue = new FairQueue({ places: 1, placesOfOne: 1, waitingOfOne: 100 })
  const served: string[] = []
  const ends: (() => void)[] = []
  const join = (name: string, options: { path: string[]; isMinor?: boolean }) => {
    const turn = queue.take('party', options)
    assert.ok(turn)
    void turn.come?.then(() => {
      served.push(name)
      ends.push(turn.end)
    })
    if (turn.come === null) ends.push(turn.end)
  }
  join('first', { path: [] })
  for (let i = 0; i < 8; i++) join('thief', { path: ['thief', `key ${i}`] })
  for (let i = 0; i < 4; i++) join('browser', { path: ['tenant'], isMinor: true })
  join('owner', { path: ['owner'] })
  while (ends.length > 0) {
    ends.shift()?.()
    await new Promise(resolve => setImmediate(resolve))
  }
  assert.equal(served.length, 13)
  assert.ok(served.indexOf('owner') < 3, served.join())
  for (const at of [4, 8, 12])
    assert.equal(served.slice(0, at).filter(name => name === 'browser').length, at / 4, served.join())
})

test('a minor caller finds no place beyond the quarter, and one when another minor ends', async () => {
  const queue = new FairQueue({ places: 8, placesOfOne: 8, waitingOfOne: 100 })
  const minor = () => queue.take('party', { path: ['tenant'], isMinor: true })
  const [first, second, third] = [minor(), minor(), minor()]
  assert.deepEqual([first?.come, second?.come], [null, null])
  assert.ok(third?.come)
  assert.equal(queue.take('party', { path: ['owner'] })?.come, null)
  assert.equal(third.isPassed(), true)
  first?.end()
  await third.come
})

test('a caller that has to go for another name gets too_many_in_flight', async () => {
  const queue = new FairQueue({ places: 1, placesOfOne: 1, waitingOfOne: 2 })
  queue.take('party', { path: ['a'] })
  const [kept, dropped] = [queue.take('party', { path: ['a'] }), queue.take('party', { path: ['a'] })]
  assert.equal(queue.take('party', { path: ['a'] }), null)
  assert.ok(queue.take('party', { path: ['b'] })?.come)
  await assert.rejects(Promise.resolve(dropped?.come), { code: 'too_many_in_flight' })
  assert.deepEqual(queue.depth(), { waiting: 2, parties: 1 })
  kept?.end()
  assert.deepEqual(queue.depth(), { waiting: 1, parties: 1 })
})

test('a party that holds all it may waits behind itself as soon as another gives a place back', () => {
  const queue = new FairQueue({ places: 4, placesOfOne: 2, waitingOfOne: 10 })
  for (const party of ['slow', 'slow']) queue.take(party)
  const [waiting, other] = [queue.take('slow'), queue.take('other')]
  // Nothing has ended: perhaps nothing can, and that is not the fault of one party.
  assert.equal(waiting?.isPassed(), false)
  other?.end()
  assert.equal(waiting?.isPassed(), true)
  assert.equal(queue.depth().waiting, 1)
})
