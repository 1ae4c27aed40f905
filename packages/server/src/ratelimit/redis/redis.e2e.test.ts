import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { testStore } from '../../../test/counter-store-suite.ts'
import { openWatched, someCheck } from '../../../test/redis-counters.ts'
import { startRedis } from '../../../test/redis-server.ts'
import { type Counters, charge } from '../fold.ts'
import { graceMs } from '../store.ts'
import { type Subject, subjectName, subjectOf } from '../subject.ts'
import { type Cell, type Rule, used } from '../window.ts'
import { bytesOf, toBatch } from './batch.ts'

const server = await startRedis()
let time = 0
// Twenty thousand checks may take some seconds beside other tests.
const patient = { requestMs: 30_000 }
const { store, batches } = await openWatched(server.url, () => time, patient)
const { store: other } = await openWatched(server.url, () => time, patient)

testStore('Redis', async () => ({
  store,
  other,
  async setTime(now) {
    time = now
  },
}))

const whole = { min: 0, max: 1_000_000_000 }
const anyRule = fc.record<Rule>({
  id: fc.constantFrom('a', 'b', '0-9._z'),
  limit: fc.oneof(fc.integer({ ...whole, min: 1 }), fc.integer({ min: 1, max: 20 })),
  window_ms: fc.oneof(fc.integer({ min: 1_000, max: 2_678_400_000 }), fc.constantFrom(1_000, 2_678_400_000)),
  algorithm: fc.constantFrom('sliding', 'fixed'),
  scope: fc.constantFrom('key', 'tenant'),
})

test('the script and the process compute the same verdicts and cells, for any clock and bounds', async () => {
  const step = fc.record({
    rule: fc.nat(),
    cost: fc.oneof(fc.integer({ min: 0, max: 3 }), fc.integer({ min: 0, max: 1_000_000_000 })),
    ms: fc.oneof(fc.integer({ min: -2_000, max: 2_000 }), fc.integer({ min: 0, max: 2_000_000_000 })),
  })
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1_000_000_000_000, max: 4_000_000_000_000 }),
      fc.array(anyRule, { minLength: 1, maxLength: 4 }),
      fc.array(step, { minLength: 1, maxLength: 30 }),
      async (from, rules, steps) => {
        const subject = someCheck()
        const counters: Counters = []
        time = from
        let latest = from
        for (const { rule, cost, ms } of steps) {
          // A larger step back may find that a counter is no longer kept.
          time = Math.max(time + ms, latest - graceMs + 1)
          latest = Math.max(latest, time)
          const asked = {
            ...subject,
            cost,
            rules: [{ ...(rules[rule % rules.length] as Rule), scope: 'key' as const }],
          }
          assert.deepEqual(
            await store.check(asked),
            charge(asked, () => counters, time),
          )
        }
      },
    ),
    { numRuns: 60 },
  )
})

/** A cost whose expired part is 1 / window less than a whole number, where plain doubles round wrongly. */
function awkwardCost(window: number, gone: number): number | null {
  let [rest, next, inverse, after] = [BigInt(window), BigInt(gone), 0n, 1n]
  while (next > 0n) {
    const times = rest / next
    ;[rest, next, inverse, after] = [next, rest - times * next, after, inverse - times * after]
  }
  const cost = Number(((-inverse % BigInt(window)) + BigInt(window)) % BigInt(window))
  return rest === 1n && cost > 0 && cost <= 1_000_000_000 ? cost : null
}

test('the script computes the rest of the previous window like the process, to the last unit', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1_000, max: 2_678_400_000 }),
      fc.integer({ min: 1, max: 1_000_000_000 }),
      fc.nat(2_678_400_000),
      async (window_ms, anyCost, any) => {
        const gone = any % window_ms
        const cost = awkwardCost(window_ms, gone) ?? anyCost
        const rule: Rule = { id: 'a', limit: 1_000_000_000, window_ms, algorithm: 'sliding', scope: 'key' }
        const asked = someCheck({ cost, rules: [rule] })
        time = 600 * window_ms
        await store.check(asked)
        time += window_ms + gone
        const { cells } = await store.check({ ...asked, cost: 0 })
        const left = used(cells[0] as Cell, rule, time)
        const passes = async (limit: number) =>
          (await store.check({ ...asked, cost: 0, rules: [{ ...rule, limit }] })).allowed
        assert.deepEqual([await passes(left), await passes(left - 1)], [true, false])
      },
    ),
    { numRuns: 1_000 },
  )
})

test('the checks of a batch are decided in the order of arrival', async () => {
  const place = someCheck()
  const keys = [randomUUID(), randomUUID(), null]
  const step = fc.record({
    key: fc.nat(2),
    rules: fc.uniqueArray(anyRule, { minLength: 1, maxLength: 3, selector: ({ id }) => id }),
    cost: fc.nat(9),
  })
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 2, maxLength: 60 }), async steps => {
      const projectId = randomUUID()
      time = 1_790_000_000_000
      const subjects = new Map<string, Counters>()
      const countersOf = (subject: Subject) => {
        const counters = subjects.get(subjectName(subject)) ?? []
        subjects.set(subjectName(subject), counters)
        return counters
      }
      const asked = steps.map(({ key, rules, cost }) => ({
        ...place,
        projectId,
        keyId: keys[key] ?? null,
        rules,
        cost,
      }))
      const tallies = await Promise.all(asked.map(check => store.check(check)))
      const folded = asked.map(check => charge(check, scope => countersOf(subjectOf(check, scope)), time))
      assert.deepEqual(tallies, folded)
    }),
    { numRuns: 40 },
  )
})

test('a call carries at most 500 checks and 256 KiB, however many arrive at once', async () => {
  batches.length = 0
  const plain = someCheck()
  await Promise.all(Array.from({ length: 1_200 }, () => store.check(plain)))
  assert.deepEqual(batches, [500, 500, 200])
  batches.length = 0
  const rules = Array.from({ length: 8 }, (_, i) => ({
    ...(plain.rules[0] as Rule),
    id: `${i}`.padEnd(64, 'x'),
  }))
  await Promise.all(Array.from({ length: 400 }, () => store.check(someCheck({ rules }))))
  assert.equal(
    batches.reduce((sum, batch) => sum + batch),
    400,
  )
  assert.ok(
    batches.every(batch => batch * bytesOf({ ...plain, rules }) <= 256 * 1024),
    `${batches}`,
  )
})

test('a batch is never larger than the estimate of its bytes', () => {
  const longest: Rule = {
    id: 'x'.repeat(64),
    limit: 1_000_000_000,
    window_ms: 2_678_400_000,
    algorithm: 'sliding',
    scope: 'key',
  }
  for (const count of [1, 8]) {
    const rules = Array.from({ length: count }, (_, i) => ({
      ...longest,
      scope: i === 0 ? ('tenant' as const) : ('key' as const),
    }))
    const check = someCheck({ keyId: null, tenantId: null, cost: 1_000, rules })
    const { keys, checks } = toBatch([check])
    assert.ok(bytesOf(check) >= [...keys, checks].join('').length)
  }
})

test('beyond 20,000 waiting checks new ones are refused, and the others are answered', async () => {
  const asked = someCheck()
  const all = await Promise.allSettled(Array.from({ length: 20_001 }, () => store.check(asked)))
  assert.deepEqual(all.map(({ status }) => status).filter(status => status === 'rejected').length, 1)
  assert.equal(all.at(-1)?.status, 'rejected')
  assert.equal((await store.check({ ...asked, cost: 0 })).cells[0]?.current, 20_000)
})
