import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import type { Check } from '../src/ratelimit/fold.ts'
import type { CounterStore } from '../src/ratelimit/store.ts'
import type { Rule } from '../src/ratelimit/window.ts'

/** The guarantees of every store of counters: one suite, and one model that is written differently. */
export interface StoreUnderTest {
  store: CounterStore
  /** A second store on the same counters, like that of another process. */
  other: CounterStore
  /** Sets the store's own clock. */
  setTime(now: number): Promise<void>
}

const rule = (over: Partial<Rule> = {}): Rule => ({
  id: 'burst',
  limit: 10,
  window_ms: 1_000,
  algorithm: 'sliding',
  scope: 'key',
  ...over,
})

const check = (over: Partial<Check> = {}): Check => ({
  workspaceId: randomUUID(),
  projectId: randomUUID(),
  env: 'live',
  keyId: randomUUID(),
  tenantId: randomUUID(),
  cost: 1,
  rules: [rule()],
  ...over,
})

const spend = async (store: CounterStore, asked: Check, times: number) => {
  let allowed = 0
  for (let i = 0; i < times; i++) if ((await store.check(asked)).allowed) allowed += 1
  return allowed
}

const second = 1_790_000_000_000

/** The counters as a table of fractions. It shares no arithmetic with the service. */
class Model {
  readonly #spent = new Map<string, Map<bigint, bigint>>()
  #latest = new Map<string, bigint>()

  check(now: number, { keyId, tenantId, env, cost, rules }: Check): boolean {
    const counters = rules.map(({ id, algorithm, window_ms, scope, limit }) => {
      const window = BigInt(window_ms)
      const name = [env, scope, scope === 'key' ? keyId : tenantId, id, algorithm, window_ms].join()
      const latest = this.#latest.get(name) ?? 0n
      const own = BigInt(now) / window
      const slot = own > latest ? own : latest
      const elapsed = own > latest || own === slot ? BigInt(now) - slot * window : 0n
      const cells = this.#spent.get(name) ?? new Map<bigint, bigint>()
      const before = algorithm === 'fixed' ? 0n : (cells.get(slot - 1n) ?? 0n)
      const current = cells.get(slot) ?? 0n
      const left = window - (elapsed < 0n ? 0n : elapsed)
      const passes = before * left + (current + BigInt(cost)) * window <= BigInt(limit) * window
      return { name, slot, cells, current, passes }
    })
    if (!counters.every(({ passes }) => passes)) return false
    if (cost === 0) return true
    for (const { name, slot, cells, current } of counters) {
      this.#spent.set(name, cells.set(slot, current + BigInt(cost)))
      this.#latest.set(name, slot)
    }
    return true
  }
}

export function testStore(name: string, open: () => Promise<StoreUnderTest>): void {
  test(`${name}: every verdict equals the model’s, for random checks and clock steps`, async () => {
    const { store, setTime } = await open()
    const rules = fc
      .subarray(
        [
          rule({ id: 'a', limit: 7 }),
          rule({ id: 'b', limit: 5, algorithm: 'fixed' }),
          rule({ id: 'c', limit: 12, window_ms: 2_500 }),
          rule({ id: 'a', limit: 9, scope: 'tenant' }),
          rule({ id: 'd', limit: 20, scope: 'tenant', algorithm: 'fixed', window_ms: 4_000 }),
        ],
        { minLength: 1 },
      )
      .filter(some => new Set(some.map(({ id }) => id)).size === some.length)
    const step = fc.record({
      rules,
      key: fc.constantFrom('one', 'two', null),
      tenant: fc.constantFrom('one', null),
      env: fc.constantFrom<Check['env']>('live', 'test'),
      cost: fc.oneof(fc.integer({ min: 0, max: 4 }), fc.constant(13)),
      ms: fc.oneof(fc.integer({ min: 0, max: 700 }), fc.constant(-300), fc.constant(5_000)),
    })
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40 }), async steps => {
        const ids = new Map([
          ['one', randomUUID()],
          ['two', randomUUID()],
        ])
        const whole = check()
        const model = new Model()
        let now = second
        for (const { rules, key, tenant, env, cost, ms } of steps) {
          now += ms
          await setTime(now)
          const asked: Check = {
            ...whole,
            keyId: key === null ? null : (ids.get(key) ?? null),
            tenantId: tenant === null ? null : (ids.get(tenant) ?? null),
            env,
            cost,
            rules,
          }
          const tally = await store.check(asked)
          assert.equal(tally.allowed, model.check(now, asked))
          assert.equal(tally.now, now)
        }
      }),
      { numRuns: 25 },
    )
  })

  test(`${name}: of a thousand simultaneous checks exactly as many pass as the limit allows`, async () => {
    const { store, other, setTime } = await open()
    await setTime(second)
    for (const algorithm of ['sliding', 'fixed'] as const) {
      const asked = check({ rules: [rule({ limit: 137, algorithm })] })
      const tallies = await Promise.all(
        Array.from({ length: 1_000 }, (_, i) => (i % 2 === 0 ? store : other).check(asked)),
      )
      assert.equal(tallies.filter(({ allowed }) => allowed).length, 137)
      assert.equal((await store.check({ ...asked, cost: 0 })).cells[0]?.current, 137)
    }
  })

  test(`${name}: each of many keys has its own limit, through two processes`, async () => {
    const { store, other, setTime } = await open()
    await setTime(second)
    const whole = check()
    const asked = Array.from({ length: 60 }, () => ({ ...whole, keyId: randomUUID() }))
    const tallies = await Promise.all(
      asked.flatMap(one => Array.from({ length: 15 }, (_, i) => (i % 2 === 0 ? store : other).check(one))),
    )
    assert.equal(tallies.filter(({ allowed }) => allowed).length, 600)
  })

  test(`${name}: all rules are charged, or none`, async () => {
    const { store, setTime } = await open()
    await setTime(second)
    const whole = check()
    const wide = rule({ id: 'wide', limit: 100 })
    const narrow = rule({ id: 'narrow', limit: 3, scope: 'tenant' })
    const both = { ...whole, rules: [wide, narrow] }
    assert.equal(await spend(store, both, 5), 3)
    const tally = await store.check({ ...whole, rules: [wide], cost: 0 })
    assert.equal(tally.cells[0]?.current, 3)
  })

  test(`${name}: cost 0 charges nothing, and a cost above the limit never passes`, async () => {
    const { store, setTime } = await open()
    await setTime(second)
    const asked = check({ rules: [rule({ limit: 2 })] })
    assert.equal((await store.check({ ...asked, cost: 3 })).allowed, false)
    assert.equal(await spend(store, { ...asked, cost: 0 }, 5), 5)
    assert.equal(await spend(store, asked, 5), 2)
    assert.equal((await store.check({ ...asked, cost: 0 })).allowed, true)
    // The limit is lowered: even cost 0 exceeds it.
    assert.equal((await store.check({ ...asked, cost: 0, rules: [rule({ limit: 1 })] })).allowed, false)
  })

  test(`${name}: no two scopes, subjects or rules share a counter`, async () => {
    const { store, setTime } = await open()
    await setTime(second)
    const one = check({ rules: [rule({ limit: 1 })] })
    const apart: Check[] = [
      one,
      { ...one, workspaceId: randomUUID() },
      { ...one, projectId: randomUUID() },
      { ...one, env: 'test' },
      { ...one, keyId: randomUUID() },
      { ...one, keyId: null },
      { ...one, keyId: '00000000-0000-0000-0000-000000000000' },
      { ...one, rules: [rule({ limit: 1, scope: 'tenant' })] },
      { ...one, tenantId: one.keyId, rules: [rule({ limit: 1, scope: 'tenant' })] },
      { ...one, tenantId: null, rules: [rule({ limit: 1, scope: 'tenant' })] },
      { ...one, rules: [rule({ limit: 1, id: 'other' })] },
      { ...one, rules: [rule({ limit: 1, algorithm: 'fixed' })] },
      { ...one, rules: [rule({ limit: 1, window_ms: 1_001 })] },
    ]
    for (const asked of apart) assert.equal((await store.check(asked)).allowed, true)
    for (const asked of apart) assert.equal((await store.check(asked)).allowed, false)
  })

  test(`${name}: a counter continues when its limit changes`, async () => {
    const { store, setTime } = await open()
    await setTime(second)
    const asked = check({ rules: [rule({ limit: 4 })] })
    assert.equal(await spend(store, asked, 4), 4)
    assert.equal((await store.check(asked)).allowed, false)
    const raised = { ...asked, rules: [rule({ limit: 6 })] }
    assert.equal(await spend(store, raised, 4), 2)
  })

  test(`${name}: a counter that has just ended counts again when the clock is set back`, async () => {
    const { store, setTime } = await open()
    const asked = check({ rules: [rule({ limit: 1 })] })
    await setTime(second)
    assert.equal((await store.check(asked)).allowed, true)
    await setTime(second + 2_000)
    assert.equal((await store.check({ ...asked, rules: [rule({ id: 'other' })] })).allowed, true)
    await setTime(second + 1_999)
    assert.equal((await store.check(asked)).allowed, false)
  })

  test(`${name}: the largest bounds are counted exactly`, async () => {
    const { store, setTime } = await open()
    const window = 2_678_400_000
    await setTime(window * 700)
    const big = rule({ limit: 1_000_000_000, window_ms: window })
    const rules = Array.from({ length: 8 }, (_, i) => ({ ...big, id: `${i}`.padEnd(64, 'x') }))
    const asked = check({ cost: 1_000, rules })
    assert.equal(await spend(store, asked, 3), 3)
    // Half a window later half of the cost still counts, rounded up.
    await setTime(window * 701 + window / 2 + 1)
    const { cells } = await store.check({ ...asked, cost: 0 })
    assert.deepEqual(
      cells.map(({ previous, current }) => [previous, current]),
      rules.map(() => [3_000, 0]),
    )
  })
}
