import assert from 'node:assert/strict'
import { test } from 'node:test'
import { closingLines, isGreen } from './closing.ts'
import type { FileResult } from './run-file.ts'

const result = (file: string, failed: string[] = [], cpuSeconds = 1): FileResult => ({
  file,
  passed: ['a', 'b'],
  failed,
  faults: [],
  seconds: 1,
  cpuSeconds,
  output: '',
})
const facts = {
  results: [result('one.test.ts')],
  unsteady: [],
  failed: [],
  second: new Map(),
  notBegun: [],
  quarantine: [],
  faults: [],
  postgresVersion: '18.4',
  postgresCpuSeconds: 12.4,
  seconds: 61,
  seed: 7,
}
const unsteady = (count: number) =>
  Array.from({ length: count }, (_, at) => {
    const first = result(`${at}.test.ts`, ['c'])
    return { first, second: { ...first, passed: ['a', 'b', 'c'], failed: [] } }
  })

test('a run ends with its ten dearest files, its processor time and its count', () => {
  const results = Array.from({ length: 12 }, (_, at) => result(`${at}.test.ts`, [], at))
  const lines = closingLines({ ...facts, results })
  assert.deepEqual(lines.slice(0, 3), [
    'dearest files, in seconds of processor:',
    '   11.0 s  11.test.ts',
    '   10.0 s  10.test.ts',
  ])
  assert.equal(lines.length, 13)
  assert.equal(lines.at(-2), 'processor: tests 66 s, Postgres 12 s; in 61 s of time, seed 7, Postgres 18.4')
  assert.equal(lines.at(-1), '24 passed, 0 failed')
})

test('eight unsteady files are counted by their second look, and nine make the run red', () => {
  const run = (count: number) => {
    const looks = unsteady(count)
    return {
      ...facts,
      results: looks.map(({ first }) => first),
      unsteady: looks,
      second: new Map(looks.map(({ first, second }) => [first, second])),
    }
  }
  assert.equal(isGreen(run(8)), true)
  assert.equal(closingLines(run(8)).at(-1), '24 passed, 0 failed')
  assert.equal(isGreen(run(9)), false)
  assert.deepEqual(closingLines(run(9)).slice(-2), [
    'failed: 9 unsteady files, over 8',
    '27 passed, 1 failed',
  ])
})

test('a fault of the run makes it red, though all files passed', () => {
  const run = { ...facts, faults: ['quarantine: 6 entries, of at most 5'] }
  assert.equal(isGreen(run), false)
  assert.deepEqual(closingLines(run).slice(-2), [
    'failed: quarantine: 6 entries, of at most 5',
    '2 passed, 1 failed',
  ])
})

test('a run in which nothing was chosen is red', () => {
  assert.equal(isGreen({ ...facts, results: [] }), false)
})

test('of a file that ran several times, each run counts by itself', () => {
  const bad = { ...result('one.test.ts', ['c']), passed: ['a'] }
  const run = { ...facts, results: [result('one.test.ts'), bad, result('one.test.ts')], failed: [bad] }
  assert.equal(closingLines(run).at(-1), '5 passed, 1 failed')
})

test('the processor time of a run has the second looks', () => {
  const [look] = unsteady(1)
  assert.ok(look)
  const run = {
    ...facts,
    results: [look.first],
    unsteady: [look],
    second: new Map([[look.first, look.second]]),
  }
  assert.match(closingLines(run).join('\n'), /^processor: tests 2 s,/m)
})
