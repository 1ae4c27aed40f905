import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { makeProgress } from './progress.ts'

function progressOf(t: TestContext, files: readonly string[]) {
  const folder = mkdtempSync(join(tmpdir(), 'keyrail-progress-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const output = join(folder, 'output.log')
  writeFileSync(output, 'what it printed\n')
  let printed = ''
  const progress = makeProgress({
    files,
    times: {},
    print: text => {
      printed += text
    },
    terminal: true,
  })
  const result = (file: string, failed: string[]) => {
    const [seconds, cpuSeconds] = [1, 1]
    return { file, passed: ['a'], failed, faults: [], seconds, cpuSeconds, output }
  }
  return { progress, result, printed: () => printed }
}

test('in a terminal one line moves, a failure stays, and the last line ends', t => {
  const { progress, result, printed } = progressOf(t, ['one.test.ts', 'two.test.ts'])
  progress.ended(result('one.test.ts', []), 'first', false)
  progress.ended(result('two.test.ts', ['b']), 'first', true)
  progress.ended(result('two.test.ts', []), 'second', false)
  progress.close()
  const lines = printed().replaceAll('\r\u001b[2K', '\n').split('\n')
  assert.match(lines[1] ?? '', /^1 of 2 files, 0 failed, about \d+ min left$/)
  assert.deepEqual(lines.slice(2, 5), [
    'FAILED  two.test.ts  1 passed, 1 failed, 1.0 s',
    'what it printed',
    'FAILED  two.test.ts: "b"',
  ])
  assert.deepEqual(lines.slice(5), [
    '2 of 2 files, 1 failed, about 0 min left',
    '2 of 2 files, 0 failed, about 0 min left',
    '',
  ])
})
