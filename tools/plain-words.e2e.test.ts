import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findingsIn } from './plain-words.ts'

const foundIn = (path: string, text: string) =>
  findingsIn(path, text).map(({ line, found }) => `${line} ${found}`)

test('forbidden wordings are found in comments, messages and pages, with their line', () => {
  const code =
    "const a = 1\n// Nobody is told.\nthrow new Error('there is no such key here')\n/**\n * Of a key.\n */\n"
  assert.deepEqual(foundIn('a.ts', code), ['2 told', '2 Nobody', '3 there is no such', '5 Of'])
  assert.deepEqual(foundIn('a.md', '# Of\n\nWhoever revokes waits.\n'), ['3 Whoever'])
  assert.deepEqual(foundIn('a.sql', 'select 1; -- what is none\n'), ['1 what is none'])
})

test('code is left out: identifiers, short literals, statements, fences and links', () => {
  const code = "const told = nobody('told')\nconst sql = `select who is from told of its own`\n"
  assert.deepEqual(foundIn('a.ts', code), [])
  assert.deepEqual(foundIn('a.md', '```sh\ntell nobody\n```\n`told` [here](docs/told.md)\n'), [])
})

test('a test name of 90 characters is too long', () => {
  const named = (length: number) => `test('${'a'.repeat(length)}', () => {})\n`
  assert.deepEqual(foundIn('a.test.ts', named(89)), [])
  assert.deepEqual(foundIn('a.test.ts', named(90)), ['1 a test name of 90 characters'])
})
