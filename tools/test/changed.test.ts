import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testsReached } from './changed.ts'
import { readImporters } from './imports.ts'

const own = 'tools/test/changed.test.ts'
const tests = [own, 'tools/test/quarantine.test.ts', 'tools/promised-tests.test.ts', 'docs/counts.test.ts']
const importers = await readImporters(tests)
const reached = (...changed: string[]) => testsReached(changed, tests, importers)

test('a module reaches the tests that import it, however far away', () => {
  assert.deepEqual(reached('tools/test/quarantine.ts'), ['tools/test/quarantine.test.ts'])
  assert.deepEqual(reached('tools/test/imports.ts'), [own])
  assert.deepEqual(reached('tools/test/changed.ts', 'tools/promised-tests.ts'), [
    own,
    'tools/promised-tests.test.ts',
  ])
})

test('a changed test reaches itself', () => {
  assert.deepEqual(reached(own), [own])
})

test('a file that nothing imports reaches the tests of the modules that mention it', () => {
  assert.deepEqual(reached('tools/test/quarantine.json'), [own, 'tools/test/quarantine.test.ts'])
})

test('a page that no module mentions reaches the tests of its folder', () => {
  assert.deepEqual(reached(`docs/runbooks/${['no', 'such', 'page'].join('-')}.md`), ['docs/counts.test.ts'])
})
