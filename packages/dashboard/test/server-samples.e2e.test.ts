import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { serverSamples } from '../src/screens/get-started/snippets.ts'

/** The servers that Get started shows in TypeScript. Those in JavaScript run in the first hour. */

const modules = join(import.meta.dirname, '..', '..', '..', 'node_modules')
// Below the packages that they import.
const cache = join(modules, '.cache')
mkdirSync(cache, { recursive: true })
const folder = mkdtempSync(join(cache, 'keyrail-server-samples-'))
after(() => rmSync(folder, { recursive: true, force: true }))

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
  const options = ['--ignoreConfig', '--noEmit', '--strict', '--experimentalDecorators', '--skipLibCheck']
  const target = ['--target', 'es2024', '--module', 'nodenext', '--types', 'node']
  const { stdout } = spawnSync(
    process.execPath,
    [join(modules, 'typescript', 'bin', 'tsc'), ...options, ...target, ...files],
    { encoding: 'utf8', cwd: folder },
  )
  assert.equal(stdout, '')
})
