import assert from 'node:assert/strict'
import { test } from 'node:test'
import { refusalReasons, shadowReasons } from '@keyrail/contract/usage'
import { drawKey, id } from '../../test/keys.ts'
import { countedBy, counting, RefusalCounts } from './refusal-counts.ts'
import { refusals, refused, type Valid } from './verdict.ts'

const HOUR = 3_600_000
const NOW = Date.parse('2027-01-01T10:59:59Z')

function setUp() {
  const time = { now: NOW }
  const counts = new RefusalCounts(id(1), () => time.now)
  counts.isTaken = true
  return { time, counts, key: drawKey('kr_live') }
}

test('the reasons of the contract are counted, in its order', () => {
  const { counts, key } = setUp()
  for (const code of [...Object.keys(refusals), 'rate_limited', 'limits_unavailable', 'no_key'])
    counts.add(code, key)
  const { records = [] } = counts.take() ?? {}
  assert.deepEqual(
    records.map(({ reason }) => reason),
    refusalReasons,
  )
  assert.deepEqual(new Set(records.map(({ count }) => count)), new Set([1]))
})

test('counts are taken by hour and environment, a hundred records at most', () => {
  const { time, counts, key } = setUp()
  for (let hour = 0; hour < 40; hour++) {
    for (const reason of refusalReasons) counts.add(reason, hour % 2 ? key : { env: 'test' })
    time.now += HOUR
    // Counts are given their hour when reports are made.
    const { isTaken } = counts
    counts.isTaken = undefined
    if (hour < 39) counts.settle()
    counts.isTaken = isTaken
  }
  const taken = []
  for (let report = counts.take(); report; report = counts.take()) taken.push(report)
  assert.deepEqual(
    taken.map(({ env, records }) => [env, records.length]),
    [
      ['live', 100],
      ['live', 100],
      ['test', 100],
      ['test', 100],
    ],
  )
  assert.equal(taken[0]?.records[0]?.hour, '2027-01-01T12:00:00.000Z')
  assert.equal(counts.size, 0)
})

test('however many keys and hours are refused, what is kept has a bound', () => {
  const { time, counts } = setUp()
  for (let hour = 0; hour < 1_000; hour++) {
    for (let n = 0; n < 10; n++) counts.add('unknown_key', drawKey('kr_live'))
    counts.settle()
    time.now += HOUR
  }
  // The last week and the hour in which it ends.
  assert.equal(counts.size, 169 * 10)
  for (let jump = 0; jump < 1_000; jump++) {
    time.now -= HOUR
    counts.add('unknown_key', drawKey('kr_live'))
    counts.settle()
  }
  assert.ok(counts.size <= 2_000)
  counts.isTaken = false
  assert.equal(counts.take(), undefined)
  assert.equal(counts.size, 0)
})

/** Of a keyring with the option `shadow`. */
const inShadow = () => new RefusalCounts(id(1), () => NOW, 'live', true)
const takenOf = (counts: RefusalCounts) =>
  Object.fromEntries(counts.take()?.records.map(({ reason, count }) => [reason, count]) ?? [])
const valid = { ...refused.unknown_key, valid: true, code: 'valid', env: 'live' } as unknown as Valid

test('in shadow what would be refused is counted apart, by each code of the contract', () => {
  const counts = inShadow()
  for (const code of [...Object.keys(refusals), 'rate_limited', 'limits_unavailable', 'agreed', 'accepted'])
    counts.add(code, code === 'missing_key' ? undefined : drawKey('kr_test'))
  for (const verdict of Object.values(refused)) counts.compare(verdict, true, drawKey('kr_test'))
  counts.compare(valid, true, drawKey())
  counts.compare(valid, false, drawKey())
  // A live node reports on live alone, whatever it is shown. What is compared is charged for no limit.
  const all = shadowReasons.filter(reason => reason !== 'shadow_rate_limited')
  assert.deepEqual(takenOf(counts), Object.fromEntries(all.map(reason => [reason, 1])))
  assert.equal(counts.size, 0)
})

test('compare counts with and without shadow, and its old check may refuse nothing or all', () => {
  for (const counts of [inShadow(), new RefusalCounts(id(1), () => NOW)]) {
    for (const accepted of [true, false]) {
      counts.compare(refused.unknown_key, accepted, 'old')
      counts.compare(refused.missing_key, accepted, null)
      counts.compare(valid, accepted, drawKey('kr_live'))
    }
    assert.deepEqual(takenOf(counts), {
      // Not the request without a key, which both refuse.
      shadow_agreed: 2,
      shadow_accepted: 1,
      shadow_missing_key: 1,
      shadow_unknown_key: 1,
    })
  }
})

test('what guards in shadow would refuse is apart from what was compared', () => {
  const counts = inShadow()
  counts.add('unknown_key', 'old')
  counts.compare(refused.unknown_key, true, 'old')
  counts.add('unknown_key', 'old')
  counts.add('rate_limited', { env: 'live' })
  assert.deepEqual(takenOf(counts), {
    shadow_unknown_key: 1,
    shadow_guard_unknown_key: 2,
    shadow_guard_rate_limited: 1,
  })
})

test('what a report of shadow cannot hold goes in the next one', () => {
  const time = { now: NOW }
  const counts = new RefusalCounts(id(1), () => time.now, 'both', true)
  for (let hour = 0; hour < 12; hour++) {
    for (const code of Object.keys(refusals)) counts.add(code, drawKey('kr_test'))
    counts.settle()
    time.now += HOUR
  }
  const taken = []
  for (let report = counts.take(); report; report = counts.take()) taken.push(report)
  assert.deepEqual(
    taken.map(({ env, records }) => [env, records.length]),
    [
      ['test', 100],
      ['test', 80],
    ],
  )
})

test('a proxy of the caller around a counting `verify` is not taken for it', () => {
  const { counts } = setUp()
  const verify = counting(() => refused.unknown_key, counts)
  assert.equal(countedBy(verify)?.counts, counts)
  assert.equal(countedBy(new Proxy(verify, {})), undefined)
})
