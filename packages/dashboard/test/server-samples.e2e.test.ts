import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { serverSamples } from '../src/screens/get-started/snippets.ts'
import { compile, makeSamplesFolder, strictTypes } from './compile.ts'

/** The servers that Get started shows in TypeScript. Those in JavaScript run in the first hour. */

const folder = makeSamplesFolder()

test('the first server of each framework with types has the right ones, in a strict project', () => {
  const place = { url: 'https://keys.example.com', projectId: 'p', env: 'live', secret: 's' } as const
  const samples = serverSamples(place).filter(({ file }) => file.endsWith('.ts'))
  assert.deepEqual(
    samples.map(({ name }) => name),
    ['Next', 'Nest'],
  )
  const files = samples.map(({ name, code }) => {
    const file = join(folder, `${name}.mts`)
    writeFileSync(file, code)
    return file
  })
  const { status, stdout } = compile(files, strictTypes)
  assert.equal(status, 0, stdout)
})
