import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Arm, type Bench, castArms, type Goal, goalsOf, meets } from './bench.ts'

const GOAL: Goal = { metric: 'requests/s', direction: 'at least', floor: 0.6, moonshot: 0.9 }
const benchWith = (goal: Bench['goal']): Bench => ({ name: 'G99', title: 'none', goal, arms: async () => [] })
const arm = (name: string, role: Arm['role']): Arm => ({ name, role, measure: async () => 1 })
const pair = [arm('keyrail', 'subject'), arm('bare', 'control')]

test('a bench without its control is refused', () => {
  assert.throws(
    () => castArms(benchWith(GOAL), [arm('keyrail', 'subject'), arm('other', 'peer')]),
    /no control/,
  )
})

test('a bench needs exactly one subject, and a distinct name for each arm', () => {
  assert.throws(() => castArms(benchWith(GOAL), [arm('bare', 'control')]), /exactly one subject/)
  assert.throws(() => castArms(benchWith(GOAL), [...pair, arm('second', 'subject')]), /exactly one subject/)
  assert.throws(() => castArms(benchWith(GOAL), [...pair, arm('bare', 'peer')]), /two arms with one name/)
})

test('the first control and the only subject get their parts, peers stay in the list', () => {
  const arms = [...pair, arm('second control', 'control'), arm('peer', 'peer')]
  const cast = castArms(benchWith(GOAL), arms)
  assert.deepEqual([cast.subject.name, cast.control.name, cast.arms.length], ['keyrail', 'bare', 4])
})

test('a goal must name an existing arm other than the subject', () => {
  assert.throws(() => castArms(benchWith({ ...GOAL, against: 'unknown' }), pair), /does not name another arm/)
  assert.throws(() => castArms(benchWith({ ...GOAL, against: 'keyrail' }), pair), /does not name another arm/)
  assert.equal(castArms(benchWith({ ...GOAL, against: 'bare' }), pair).control.name, 'bare')
})

test('a goal must have a bound, and its floor must not be stricter than its moonshot', () => {
  assert.throws(() => castArms(benchWith({ ...GOAL, floor: null, moonshot: null }), pair), /has no bound/)
  assert.throws(() => castArms(benchWith({ ...GOAL, floor: 0.9, moonshot: 0.6 }), pair), /stricter than/)
  assert.throws(() => castArms(benchWith({ ...GOAL, direction: 'at most' }), pair), /stricter than/)
  castArms(benchWith({ ...GOAL, floor: 0, moonshot: 0 }), pair)
  castArms(benchWith({ ...GOAL, floor: null }), pair)
})

test('the first goal is the headline', () => {
  assert.deepEqual(goalsOf(benchWith(GOAL)), [GOAL])
  assert.equal(goalsOf(benchWith([GOAL, { ...GOAL, metric: 'p99 ms' }])).length, 2)
})

test('a bound holds at equality, and a missing bound always holds', () => {
  assert.ok(meets('at least', 0.6, 0.6) && meets('at most', 0.6, 0.6))
  assert.ok(!meets('at least', 0.59, 0.6) && !meets('at most', 0.61, 0.6))
  assert.ok(meets('at least', -1, null))
})
