import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Deadline } from './deadline.ts'

function made(budgetMs: number) {
  let time = 1_000
  const pass = (ms: number) => {
    time += ms
  }
  return { deadline: new Deadline(budgetMs, () => time), pass }
}

test('a deadline counts down from its budget, and past zero', () => {
  const { deadline, pass } = made(100)
  assert.deepEqual([deadline.at, deadline.leftMs()], [1_100, 100])
  pass(130)
  assert.deepEqual([deadline.at, deadline.leftMs()], [1_100, -30])
})

test('a part of a call has its own budget, and never more than the call has left', () => {
  const { deadline, pass } = made(100)
  pass(30)
  assert.equal(deadline.earlier(50).at, 1_080)
  assert.equal(deadline.earlier(500).at, 1_100)
})

test('a paused deadline loses no time, however long the caller takes', () => {
  const { deadline, pass } = made(100)
  pass(30)
  deadline.pause()
  pass(5_000)
  deadline.pause()
  assert.deepEqual([deadline.leftMs(), deadline.at], [70, 6_100])
  deadline.resume()
  pass(10)
  deadline.resume()
  assert.deepEqual([deadline.leftMs(), deadline.at], [60, 6_100])
})

test('a renewed deadline has its whole budget again, paused or not', () => {
  const { deadline, pass } = made(100)
  deadline.pause()
  pass(5_000)
  deadline.renew()
  pass(40)
  assert.equal(deadline.leftMs(), 60)
})
