import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { type Drill, formatOutcome } from './harness/drill.ts'

const run = (...args: string[]) => {
  const file = fileURLToPath(new URL('run.ts', import.meta.url))
  const { status, stdout, stderr } = spawnSync(process.execPath, [file, ...args], {
    encoding: 'utf8',
    env: {},
  })
  return { status, stdout, stderr }
}

test('without a name every drill is listed', () => {
  const { status, stdout } = run()
  assert.equal(status, 0)
  assert.deepEqual(
    stdout.split('\n').flatMap(line => /^(p\d+) /.exec(line)?.[1] ?? []),
    ['p1', 'p2', 'p3', 'p15'],
  )
})

test('an unknown name and a bad number are refused with exit code 2', () => {
  assert.match(run('p99').stderr, /no drill p99/)
  assert.equal(run('p99').status, 2)
  assert.match(run('p1', '--cycles', 'many').stderr, /whole number/)
  assert.equal(run('p1', '--cycles', 'many').status, 2)
})

test('a broken promise is told with what broke it', () => {
  const drill = { name: 'p0', title: 'Nothing', promise: 'It holds.' } as Drill
  const outcome = { heading: ['a'], rows: [['1']], notes: ['one note'] }
  const tell = (broken: string[]) => formatOutcome(drill, { seed: 7 }, { ...outcome, broken })
  assert.match(tell([]), /seed 7\nThe promise was kept\.$/)
  assert.match(tell(['it fell']), /BROKEN: it fell\nThe promise was broken 1 times\.$/)
})
