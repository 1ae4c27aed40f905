import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { test } from 'node:test'
import { parseCpuTimes, readCpuTimes, stealShare } from './steal.ts'

const FIRST = 'cpu  100 0 50 800 10 0 5 35 7 0\ncpu0 50 0 25 400 5 0 2 17 3 0\nintr 1 2 3\n'
const SECOND = 'cpu  160 0 70 900 10 0 5 55 9 0\ncpu0 80 0 35 450 5 0 2 27 4 0\n'

test('steal is its column over the sum of the eight that do not overlap', () => {
  assert.deepEqual(parseCpuTimes(FIRST), { total: 1000, steal: 35 })
  assert.equal(stealShare(parseCpuTimes(FIRST), parseCpuTimes(SECOND)), 20 / 200)
})

test('two readings in one tick give no steal, and an unknown reading stays unknown', () => {
  const times = parseCpuTimes(FIRST)
  assert.equal(stealShare(times, times), 0)
  assert.equal(stealShare(undefined, times), undefined)
  assert.equal(stealShare(times, undefined), undefined)
})

test('a text without the eight columns is refused, not read as no steal', () => {
  assert.throws(() => parseCpuTimes('cpu  1 2 3 4\n'), /eight columns/)
  assert.throws(() => parseCpuTimes(''), /eight columns/)
})

test('the running machine is read if it has /proc', () => {
  assert.equal((readCpuTimes()?.total ?? 0) > 0, existsSync('/proc/stat'))
})
