import assert from 'node:assert/strict'
import { test } from 'node:test'
import { finalResults, lookAgain } from './judge.ts'
import type { FileResult } from './run-file.ts'

const result = (file: string, failed: string[]): FileResult => ({
  file,
  passed: [],
  failed,
  faults: [],
  seconds: 1,
  cpuSeconds: 1,
  output: '',
})
const failures = (count: number) => Array.from({ length: count }, (_, at) => result(`${at}.test.ts`, ['a']))

test('the second result of a failed file counts, whichever it is', async () => {
  const [good, flaky, bad] = [
    result('good.test.ts', []),
    result('flaky.test.ts', ['a']),
    result('bad.test.ts', ['a']),
  ]
  const again = async (file: string) => result(file, file === 'bad.test.ts' ? ['b'] : [])
  const looks = await lookAgain([good, flaky, bad], again, () => true)
  assert.deepEqual(
    finalResults([good, flaky, bad], looks).map(({ failed }) => failed),
    [[], [], ['b']],
  )
  assert.deepEqual(looks.failed, [result('bad.test.ts', ['b'])])
})

test('when time is over no file runs again, and its first result counts', async () => {
  const first = failures(2)
  let left = 1
  const again = async (file: string) => result(file, [])
  const looks = await lookAgain(first, again, () => left-- > 0)
  assert.deepEqual(looks.failed, first.slice(1))
  assert.deepEqual(looks.unsteady.length, 1)
})

test('of more than 24 failed files none runs again', async () => {
  const looks = await lookAgain(
    failures(25),
    () => assert.fail('ran again'),
    () => true,
  )
  assert.equal(looks.failed.length, 25)
})
