import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { type Cell, cellAt, fits } from '../../server/src/ratelimit/window.ts'
import { awakeNow } from '../src/limits/awake-now.ts'
import { CheckedFleet, type Fate, type PlanCall, wireRules } from './checked-fleet.ts'
import { id } from './keys.ts'
import { someKey } from './limited.ts'

/** Random histories of servers that charge units ahead, against the service's own arithmetic. */

const rule = (name: string) =>
  fc.record({
    id: fc.constant(name),
    limit: fc.oneof(fc.integer({ min: 1, max: 12 }), fc.integer({ min: 20, max: 400 })),
    windowMs: fc.constantFrom(1_000, 1_300, 10_000, 60_000),
    algorithm: fc.constantFrom('sliding', 'fixed'),
    scope: fc.constantFrom('key', 'tenant'),
  })
const call = fc.record({
  fate: fc.oneof(
    { weight: 8, arbitrary: fc.constant<Fate>('answered') },
    { weight: 1, arbitrary: fc.constantFrom<Fate>('lost', 'unanswered') },
  ),
  thereMs: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 40 }), fc.integer({ min: 200, max: 3_000 })),
  backMs: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 40 }), fc.integer({ min: 200, max: 3_000 })),
})
const step = fc.record({
  wait: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 30 }), fc.integer({ min: 31, max: 1_500 })),
  node: fc.nat(2),
  key: fc.integer({ min: 1, max: 2 }),
  burst: fc.integer({ min: 1, max: 12 }),
  cost: fc.oneof({ weight: 6, arbitrary: fc.constant(1) }, fc.integer({ min: 0, max: 7 })),
  /**
   * Changes the limit; kills a server with its units and starts another in its place; suspends the server, whose monotonic
   * clock stands still; or sets its other clock.
   */
  event: fc.oneof(
    { weight: 9, arbitrary: fc.constant(null) },
    fc.constantFrom('raise', 'kill', 'suspend', 'forward', 'back'),
  ),
  /** By how much, in ms. */
  jump: fc.oneof(fc.integer({ min: 51, max: 2_000 }), fc.integer({ min: 2_001, max: 100_000 })),
})

/** The clocks of a server, which are read after each jump: of two that cancel each other out neither would be seen. */
class Clocks {
  readonly #fleet: CheckedFleet
  #suspendedMs: number
  #setMs = 0
  readonly now: () => number

  constructor(fleet: CheckedFleet, node: number) {
    this.#fleet = fleet
    this.#suspendedMs = -777 * node
    this.now = awakeNow(
      () => fleet.now - this.#suspendedMs,
      () => fleet.serviceTime + this.#setMs,
    )
  }

  suspend(milliseconds: number): void {
    this.#suspendedMs += milliseconds
    this.#fleet.jump(milliseconds)
    this.now()
  }

  set(milliseconds: number): void {
    this.#setMs += milliseconds
    this.now()
  }
}

/** @throws unless the service would have let every request pass at the moment at which its unit was taken */
function assertWithinLimits(fleet: CheckedFleet): void {
  const charges = fleet.passed
    .flatMap(({ key, cost, at }) =>
      wireRules(key).flatMap(each => {
        const whose = each.scope === 'key' ? key.keyId : key.tenantId
        const name = `${each.scope} ${whose} ${each.id} ${each.algorithm} ${each.window_ms}`
        const taken = at.get(each.id)
        return taken === undefined ? [] : [{ name, rule: each, cost, at: taken }]
      }),
    )
    .toSorted((one, other) => one.at - other.at)
  const cells = new Map<string, Cell>()
  const limits = new Map<string, number>()
  for (const { name, rule: asked, cost, at } of charges) {
    // The limit is only ever raised, and a request that was asked before may be judged after.
    const rule = { ...asked, limit: Math.max(asked.limit, limits.get(name) ?? 0) }
    limits.set(name, rule.limit)
    const cell = cellAt(cells.get(name), rule, at)
    assert.ok(
      fits(cell, rule, cost, at),
      `${name} at ${at}: ${cost} beyond ${rule.limit} ${JSON.stringify(cell)}`,
    )
    cells.set(name, { ...cell, current: cell.current + cost })
  }
}

test('no history lets a request pass beyond a limit, and every unit is accounted for', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.tuple(rule('a'), rule('b')),
      fc.integer({ min: 1, max: 2 }),
      fc.nat(100_000),
      fc.array(call, { minLength: 1, maxLength: 30 }),
      fc.array(step, { minLength: 1, maxLength: 30 }),
      async (rules, count, startedAt, calls, steps) => {
        let made = 0
        const plan: PlanCall = () => {
          const next = calls[made++ % calls.length] as (typeof calls)[0]
          return next
        }
        const fleet = new CheckedFleet(plan, startedAt)
        const open = (node: number) => {
          const clocks = new Clocks(fleet, node)
          return { clocks, limiter: fleet.openNode({ timeoutMs: 60_000 }, clocks.now) }
        }
        const [nodes, ended] = [[open(0), open(1), open(2)], [] as ReturnType<typeof open>[]]
        let limits = rules.slice(0, count)
        for (const { wait, node, key, burst, cost, event, jump } of steps) {
          await fleet.advance(wait)
          if (event === 'raise') limits = limits.map(each => ({ ...each, limit: each.limit + 5 }))
          const { clocks } = nodes[node] as (typeof nodes)[0]
          if (event === 'kill') {
            ended.push(nodes[node] as (typeof nodes)[0])
            nodes[node] = open(node)
          }
          if (event === 'suspend') clocks.suspend(jump)
          if (event === 'forward') clocks.set(jump)
          if (event === 'back') clocks.set(-jump)
          const valid = { ...someKey, keyId: id(key), rateLimits: limits }
          for (let n = 0; n < burst; n++)
            void fleet.ask((nodes[node] as (typeof nodes)[0]).limiter, valid, cost)
        }
        await fleet.advance(30_000)
        assertWithinLimits(fleet)
        const all = [...nodes, ...ended].map(({ limiter }) => limiter.stats())
        const kept = all.reduce((sum, { unitsHeld, unitsUnused }) => sum + unitsHeld + unitsUnused, 0)
        const used = fleet.passed.reduce((sum, { cost }) => sum + cost * count, 0)
        assert.equal(used + kept, fleet.charged + fleet.unsure)
      },
    ),
    { numRuns: 300, endOnFailure: true },
  )
})
