import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'

const folder = mkdtempSync(join(tmpdir(), 'keyrail-run-files-'))
after(() => rmSync(folder, { recursive: true, force: true }))

const files = {
  'passes.test.mjs': `import { test } from 'node:test'\ntest('one', () => {})\ntest('two', () => {})`,
  'fails.test.mjs': `import { test } from 'node:test'\ntest('good', () => {})\ntest('bad', () => { throw new Error('no') })`,
  'skips.test.mjs': `import { test } from 'node:test'\ntest('skipped', { skip: true }, () => {})`,
  'does-not-load.test.mjs': `import './missing.mjs'`,
  'exits-badly.test.mjs': `import { test } from 'node:test'\ntest('fine', () => {})\nprocess.on('exit', () => { process.exitCode = 3 })`,
}
for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)

// Node's runner runs nothing inside a test, so another process runs these.
const program = `
  import { failedFiles, runFiles } from '${new URL('run-files.ts', import.meta.url).href}'
  const results = await runFiles(${JSON.stringify(Object.keys(files))}, { print: () => {} })
  console.log(JSON.stringify({ results: Object.fromEntries(results), failed: failedFiles(results) }))`
writeFileSync(join(folder, 'run.mjs'), program)
const { NODE_TEST_CONTEXT: _, ...env } = process.env
const { stdout, stderr } = spawnSync(process.execPath, ['run.mjs'], { cwd: folder, env, encoding: 'utf8' })

test('each file is counted with its passed, failed and skipped tests', () => {
  const { results } = JSON.parse(stdout || 'null') ?? assert.fail(stderr)
  const counts = Object.fromEntries(
    Object.entries(results as Record<string, { passed: number; failed: number; names: string[] }>).map(
      ([file, { passed, failed, names }]) => [file, [passed, failed, names]],
    ),
  )
  assert.deepEqual(counts['passes.test.mjs'], [2, 0, ['one', 'two']])
  assert.deepEqual(counts['fails.test.mjs'], [1, 1, ['good']])
  assert.deepEqual(counts['skips.test.mjs'], [0, 1, []])
})

test('a file that does not load or whose process ends badly has failed', () => {
  const { failed } = JSON.parse(stdout || 'null') ?? assert.fail(stderr)
  assert.deepEqual(failed.toSorted(), [
    'does-not-load.test.mjs',
    'exits-badly.test.mjs',
    'fails.test.mjs',
    'skips.test.mjs',
  ])
})
