import assert from 'node:assert/strict'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { loadCases } from './case.ts'
import { makeCases } from './make.ts'
import { runCases } from './run.ts'
import { SdkDriver } from './sdk-driver.ts'

const folder = join(import.meta.dirname, 'cases')
const cases = loadCases()
const driver = new SdkDriver()
after(() => driver.close())

test('every case has a unique name, and there are many', () => {
  const names = cases.map(({ name }) => name)
  assert.deepEqual(
    names.filter((name, at) => names.indexOf(name) !== at),
    [],
  )
  assert.ok(cases.length >= 500, `${cases.length} cases`)
})

test('the cases are those that make.ts makes', () => {
  const made = makeCases()
  assert.deepEqual(readdirSync(folder).toSorted(), [...made.keys()].toSorted())
  for (const [file, text] of made)
    assert.ok(readFileSync(join(folder, file), 'utf8') === text, `${file}: run clients/conformance/make.ts`)
})

test('the cases are small', () => {
  const bytes = readdirSync(folder).reduce((sum, file) => sum + statSync(join(folder, file)).size, 0)
  assert.ok(bytes < 900_000, `${bytes} bytes`)
})

for (const of of new Set(cases.map(({ file }) => file)))
  test(`the SDK passes the cases of ${of}`, async () => {
    for await (const { name, outcome, why } of runCases(
      driver,
      cases.filter(({ file }) => file === of),
    ))
      assert.equal(outcome, 'passed', `${name}\n${why.join('\n')}`)
  })
