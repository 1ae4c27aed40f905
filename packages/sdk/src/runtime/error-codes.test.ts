import assert from 'node:assert/strict'
import { test } from 'node:test'
import { errors } from '@keyrail/contract/errors'
import { readText, sourceFiles } from '../../../server/test/source-files.ts'
import type { KeyrailErrorCode } from './error-codes.ts'

const [, ofPackage = '', ofService = ''] = readText('packages/sdk/src/runtime/error-codes.ts').split(
  '  // Of ',
)
const codesIn = (text: string) => Array.from(text.matchAll(/^ {2}\| '(\w+)'$/gm), ([, code = '']) => code)

test('the codes of the service are those of its catalogue', () => {
  assert.deepEqual(codesIn(ofService), Object.keys(errors))
})

test('the codes of the package are those that it makes errors with', () => {
  const made = sourceFiles('packages/sdk/src/**/*.ts')
    .filter(({ path }) => !path.endsWith('.test.ts'))
    .flatMap(({ code }) =>
      Array.from(code.matchAll(/(?:new KeyrailError|super)\(\s*'(\w+)'/g), ([, made = '']) => made),
    )
  // A fault of the package is told like one of the service.
  const own = [...new Set(made)].filter(code => !Object.hasOwn(errors, code))
  assert.deepEqual(codesIn(ofPackage), own.toSorted())
})

test('a code that nobody knows yet is one too', () => {
  const codes: KeyrailErrorCode[] = ['timeout', 'not_found', 'http_502', 'a_code_of_tomorrow']
  assert.equal(codes.length, 4)
})
