import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readText, sourceFiles } from '../packages/server/test/source-files.ts'
import { readDocument, section, tableOf } from './documents.ts'

const table = tableOf(section(readDocument('docs/errors.md'), 'Codes of the SDK'))
const codesIn = (text: string, pattern: RegExp) => Array.from(text.matchAll(pattern), ([, code = '']) => code)

/** The codes between two places of a file. */
const listed = (path: string, from: string, to: string) =>
  codesIn(readText(path).split(from)[1]?.split(to)[0] ?? '', /'(\w+)'/g)

const errors = listed(
  'packages/sdk/src/runtime/error-codes.ts',
  'Codes of this package',
  'Codes of the service',
)
const notices = listed('packages/sdk/src/runtime/reports.ts', 'export interface Notice', 'message:')
/** The last argument of `warn`, whose text may have parentheses. */
const warnings = sourceFiles('packages/sdk/src/**/*.ts')
  .filter(({ path }) => !path.endsWith('.test.ts'))
  .flatMap(({ code }) => codesIn(code, /\bwarn\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*?,\s*'(\w+)',?\s*\)/g))

test('the page has every code of an error, a notice or a warning of the SDK, and what to do', () => {
  for (const some of [errors, notices, warnings]) assert.ok(some.length >= 5, some.join())
  const made = new Set([...errors, ...notices, ...warnings, 'http_STATUS'])
  assert.deepEqual(
    table.map(([code = '']) => code.replaceAll('`', '')),
    [...made].toSorted(),
  )
  for (const [code, meaning, cure] of table) for (const cell of [meaning, cure]) assert.ok(cell, code)
})
