import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { type Arm, type Bench, castArms, type Goal } from './bench.ts'
import { compareAll, controlSpread, exitCodeOf, judge, overall, reasonsToDoubt } from './verdict.ts'

const GOAL: Goal = { metric: 'requests/s', direction: 'at least', floor: 0.6, moonshot: 0.9 }
const arm = (name: string, role: Arm['role']): Arm => ({ name, role, measure: async () => 1 })
const ARMS = [arm('keyrail', 'subject'), arm('bare', 'control'), arm('peer', 'peer')]
const benchWith = (goal: Bench['goal']): Bench => ({
  name: 'G99',
  title: 'none',
  goal,
  arms: async () => ARMS,
})
const repeat = (value: number) => Array.from({ length: 6 }, () => value)

function compare(goal: Bench['goal'], series: Parameters<typeof compareAll>[2]) {
  const bench = benchWith(goal)
  return compareAll(bench, castArms(bench, ARMS), series)
}

test('the bound of the interval decides, not the middle', () => {
  assert.equal(judge(GOAL, { low: 0.9, high: 1.2 }), 'met')
  assert.equal(judge(GOAL, { low: 0.89, high: 1.2 }), 'floor met')
  assert.equal(judge(GOAL, { low: 0.59, high: 1.2 }), 'missed')
  const atMost: Goal = { metric: 'ms', direction: 'at most', floor: 3, moonshot: 1.5 }
  assert.equal(judge(atMost, { low: 1, high: 1.5 }), 'met')
  assert.equal(judge(atMost, { low: 1, high: 1.51 }), 'floor met')
  assert.equal(judge(atMost, { low: 1, high: 3.01 }), 'missed')
})

test('without a floor nothing is missed, without a moonshot the floor suffices', () => {
  assert.equal(judge({ ...GOAL, floor: null }, { low: 0, high: 0 }), 'floor met')
  assert.equal(judge({ ...GOAL, moonshot: null }, { low: 0.6, high: 0.6 }), 'met')
})

test('a wider interval never gets a better verdict', () => {
  const rank = { missed: 0, 'floor met': 1, met: 2 }
  const bound = fc.double({ min: 0, max: 2, noNaN: true })
  fc.assert(
    fc.property(
      fc.constantFrom('at least', 'at most'),
      bound,
      bound,
      bound,
      bound,
      (direction, a, b, c, d) => {
        const [low = 0, inner = 0, outer = 0, high = 0] = [a, b, c, d].sort((one, other) => one - other)
        const goal: Goal = direction === 'at least' ? GOAL : { ...GOAL, direction, floor: 1.5, moonshot: 1 }
        assert.ok(rank[judge(goal, { low, high })] <= rank[judge(goal, { low: inner, high: outer })])
      },
    ),
  )
})

test('ratios are taken round by round, so that a common slowdown cancels out', () => {
  const bare = [100, 50, 200, 80, 120, 90]
  const lines = compare(GOAL, {
    keyrail: { 'requests/s': bare.map(value => value * 0.75) },
    bare: { 'requests/s': bare },
  })
  assert.deepEqual(lines[0]?.interval, { low: 0.75, high: 0.75 })
  assert.equal(lines[0]?.goal?.verdict, 'floor met')
})

test('`difference` subtracts the other arm, `value` ignores it', () => {
  const goals: Bench['goal'] = [
    GOAL,
    { metric: 'peak MiB', compare: 'difference', direction: 'at most', floor: 64, moonshot: 32 },
    { metric: 'lost', compare: 'value', direction: 'at most', floor: 0, moonshot: 0 },
  ]
  const lines = compare(goals, {
    keyrail: { 'requests/s': repeat(9), 'peak MiB': repeat(140), lost: repeat(0) },
    bare: { 'requests/s': repeat(10), 'peak MiB': repeat(100) },
  })
  assert.deepEqual(
    lines.map(({ metric, median, goal }) => [metric, median, goal?.verdict]),
    [
      ['requests/s', 0.9, 'met'],
      ['peak MiB', 40, 'floor met'],
      ['lost', 0, 'met'],
    ],
  )
  assert.equal(lines[2]?.againstMedian, null)
})

test('peers and further figures are shown but not judged; a goal may name a peer', () => {
  const series = {
    keyrail: { 'requests/s': repeat(10), 'p99 ms': repeat(2) },
    bare: { 'requests/s': repeat(20), 'p99 ms': repeat(1) },
    peer: { 'requests/s': repeat(5) },
  }
  const shown = compare(GOAL, series).map(({ metric, against, median, goal }) => [
    metric,
    against,
    median,
    !!goal,
  ])
  assert.deepEqual(shown, [
    ['requests/s', 'bare', 0.5, true],
    ['p99 ms', 'bare', 2, false],
    ['requests/s', 'peer', 2, false],
  ])
  assert.equal(compare({ ...GOAL, against: 'peer' }, series)[0]?.goal?.verdict, 'met')
})

test('a figure that the subject alone has is shown once, without a comparison', () => {
  const alone = compare(GOAL, {
    keyrail: { 'requests/s': repeat(10), 'CPU us a request, Postgres': repeat(12) },
    bare: { 'requests/s': repeat(20) },
    peer: { 'requests/s': repeat(5) },
  }).filter(({ metric }) => metric !== 'requests/s')
  assert.deepEqual(
    alone.map(({ metric, compare: how, median, againstMedian, goal }) => [
      metric,
      how,
      median,
      againstMedian,
      goal,
    ]),
    [['CPU us a request, Postgres', 'value', 12, null, null]],
  )
})

test('a missing figure of a goal fails the run, and so does a ratio to zero', () => {
  const full = { 'requests/s': repeat(1) }
  assert.throws(() => compare(GOAL, { keyrail: {}, bare: full }), /keyrail does not measure/)
  assert.throws(() => compare(GOAL, { keyrail: full, bare: {} }), /bare does not measure/)
  assert.throws(() => compare(GOAL, { keyrail: full, bare: { 'requests/s': repeat(0) } }), /ratio to 0/)
})

test('an unsteady control, steal, few rounds and doubts each make a run unstable', () => {
  const still = { rounds: 10, turns: 20, controlSpread: 0.15, steal: 0.05, doubts: new Map<string, number>() }
  assert.deepEqual(reasonsToDoubt(still), [])
  assert.deepEqual(reasonsToDoubt({ ...still, steal: undefined }), [])
  assert.match(reasonsToDoubt({ ...still, controlSpread: 0.151 })[0] ?? '', /control spread 15.1 %/)
  assert.match(reasonsToDoubt({ ...still, steal: 0.06 })[0] ?? '', /steal 6.0 %/)
  assert.match(reasonsToDoubt({ ...still, rounds: 5 })[0] ?? '', /5 rounds are too few for a 95 % interval/)
  assert.deepEqual(reasonsToDoubt({ ...still, doubts: new Map([['busy', 3]]) }), ['busy (3 of 20 turns)'])
  assert.deepEqual(reasonsToDoubt({ ...still, doubts: new Map([['busy', 2]]) }), [])
})

test('the spread is that of the arm that the headline is compared with', () => {
  const bench = benchWith(GOAL)
  const steady = {
    keyrail: { 'requests/s': [1, 9] },
    bare: { 'requests/s': repeat(5) },
    peer: { other: [1] },
  }
  assert.equal(controlSpread(bench, castArms(bench, ARMS), steady), 0)
})

test('the worst goal is the verdict; doubts refuse a run, except a quick one', () => {
  const series = {
    keyrail: { 'requests/s': repeat(7), ms: repeat(1) },
    bare: { 'requests/s': repeat(10), ms: repeat(1) },
  }
  const met: Goal = { metric: 'ms', direction: 'at most', floor: 2, moonshot: 1 }
  const lines = compare([GOAL, met], series)
  assert.equal(overall(lines, [], false), 'floor met')
  assert.equal(overall(lines, ['steal'], false), 'unstable')
  assert.equal(overall(lines, ['steal'], true), 'floor met')
  assert.equal(overall(compare([{ ...GOAL, floor: 0.8 }, met], series), [], false), 'missed')
  assert.equal(overall(compare(met, series), [], false), 'met')
})

test('exit codes: 0 while floors hold, 1 when one is missed, 2 when the run is refused', () => {
  assert.deepEqual((['met', 'floor met', 'missed', 'unstable'] as const).map(exitCodeOf), [0, 0, 1, 2])
})
