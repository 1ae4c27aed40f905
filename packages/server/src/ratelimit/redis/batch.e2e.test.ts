import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { openWatched, someCheck } from '../../../test/redis-counters.ts'
import { startRedis } from '../../../test/redis-server.ts'
import { type Counters, charge } from '../fold.ts'
import type { Rule } from '../window.ts'
import { toBatch } from './batch.ts'

/** Lists of limits, which a batch has once for all checks that ask about them. */
const time = 1_790_000_000_000
const server = await startRedis()
const { store } = await openWatched(server.url, () => time)

const rule: Rule = { id: 'a', limit: 1, window_ms: 60_000, algorithm: 'sliding', scope: 'key' }

test('a batch has each list of limits once, however many checks have it', () => {
  const bytesOf = (count: number, rules: Rule[]) => {
    const checks = Array.from({ length: count }, () => someCheck({ keyId: randomUUID(), rules }))
    return toBatch(checks).checks.length
  }
  const eight = Array.from({ length: 8 }, (_, i) => ({ ...rule, id: `rule-${i}` }))
  assert.equal(bytesOf(90, eight) - bytesOf(90, [rule]), bytesOf(10, eight) - bytesOf(10, [rule]))
})

test('checks of a batch whose lists differ in one part are each judged by their own', async () => {
  const lists: Rule[][] = [
    [rule],
    [{ ...rule, limit: 2 }],
    [{ ...rule, id: 'b' }],
    [{ ...rule, window_ms: 120_000 }],
    [{ ...rule, algorithm: 'fixed' }],
    [{ ...rule, scope: 'tenant' }],
    [rule, { ...rule, id: 'c', limit: 5, scope: 'tenant' }],
    [
      { ...rule, limit: 5 },
      { ...rule, id: 'c', limit: 5, scope: 'tenant' },
    ],
    [{ ...rule, limit: 3 }],
  ]
  const asked = someCheck({ tenantId: randomUUID() })
  const counters: Record<Rule['scope'], Counters> = { key: [], tenant: [] }
  const expected = lists.map(rules => charge({ rules, cost: 1 }, scope => counters[scope], time))
  const tallies = await Promise.all(lists.map(rules => store.check({ ...asked, cost: 1, rules })))
  assert.deepEqual(tallies, expected)
  assert.deepEqual(
    tallies.map(({ allowed }) => allowed),
    [true, true, true, true, true, true, false, true, false],
  )
})
