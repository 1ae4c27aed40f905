import assert from 'node:assert/strict'
import { test } from 'node:test'
import { errors } from '@keyrail/contract/errors'
import { readText, sourceFiles } from '../../../server/test/source-files.ts'
import type { KeyrailErrorCode } from './error-codes.ts'

const [, ofPackage = '', ofService = ''] = readText('packages/sdk/src/runtime/error-codes.ts').split(
  '  // Codes of ',
)
const codesIn = (text: string) => Array.from(text.matchAll(/^ {2}\| '(\w+)'$/gm), ([, code = '']) => code)

test('the codes of the service are those of its catalogue', () => {
  assert.deepEqual(codesIn(ofService), Object.keys(errors))
})

test('the codes of the package are those of the errors that it creates', () => {
  const made = sourceFiles('packages/sdk/src/**/*.ts')
    .filter(({ path }) => !path.endsWith('.test.ts'))
    .flatMap(({ code }) =>
      Array.from(
        code.matchAll(/(?:new KeyrailError|super|passing|lasting)\(\s*'(\w+)'/g),
        ([, made = '']) => made,
      ),
    )
  // An error of the package may have the same code as one of the service.
  const own = [...new Set(made)].filter(code => !Object.hasOwn(errors, code))
  assert.deepEqual(codesIn(ofPackage), own.toSorted())
})

test('the type of codes accepts unknown ones', () => {
  const codes: KeyrailErrorCode[] = ['timeout', 'not_found', 'http_502', 'a_code_of_tomorrow']
  assert.equal(codes.length, 4)
})
