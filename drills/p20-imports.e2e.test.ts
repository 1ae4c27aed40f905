import assert from 'node:assert/strict'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { test } from 'node:test'
import { crashImports } from './harness/import-crashes.ts'

test('each row of an import is there once, whatever is killed meanwhile', async () => {
  const { broken, kills } = await crashImports({ kills: 4, rows: 6_000, seed: 7 })
  assert.deepEqual(broken, [])
  assert.equal(kills.command + kills.service + kills.both, 4)
})

test('the drill finds a progress that runs ahead of the import', async () => {
  const { broken } = await crashImports({
    kills: 2,
    rows: 6_000,
    seed: 2,
    meddle(path) {
      if (!existsSync(path)) return
      const { of, progress } = JSON.parse(readFileSync(path, 'utf8'))
      writeFileSync(
        path,
        JSON.stringify({ of, progress: { ...progress, records: progress.records + 1_500 } }),
      )
    },
  })
  assert.match(broken.join('\n'), /rows have no key/)
})
