import assert from 'node:assert/strict'
import { test } from 'node:test'
import { notKept, promisedTests, promisesOf } from './promised-tests.ts'

test('a test that a page names must be in the run and pass', () => {
  const [promise] = promisesOf('docs/page.md', '| [feed](../packages/feed.test.ts) "a node gets it" |\n')
  assert.deepEqual(promise, { page: 'docs/page.md', file: 'packages/feed.test.ts', name: 'a node gets it' })
  assert.ok(promise)
  const judge = (passed: [string, string[]][], files = ['packages/feed.test.ts']) =>
    notKept([promise], files, new Map(passed)).length
  assert.equal(judge([['packages/feed.test.ts', ['every poll: a node gets it']]]), 0)
  assert.equal(judge([['packages/feed.test.ts', ['another']]]), 1, 'it was renamed')
  assert.equal(judge([]), 1, 'it was not run')
  assert.equal(judge([['packages/other.test.ts', ['a node gets it']]]), 1, 'another file has it')
  assert.equal(judge([], ['packages/other.test.ts']), 0, 'its file is not in this run')
})

test('the pages and the list of met requirements name tests', () => {
  const pages = Map.groupBy(promisedTests(), ({ page }) => page)
  assert.ok((pages.get('docs/invariants.md')?.length ?? 0) >= 10)
  assert.ok((pages.get('docs/asvs-met.csv')?.length ?? 0) > 100)
})
