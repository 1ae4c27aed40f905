import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { test } from 'node:test'
import { root } from '../../packages/server/test/installation.ts'
import { python, source } from './stage.ts'

test('the Python client passes every case of the suite for nodes, and skips none', async () => {
  const driver = join(source, 'conformance_driver.py')
  const args = [join(root, 'clients/conformance/main.ts'), '--', python, '-B', driver]
  const said = await new Promise<string>(resolve =>
    execFile(process.execPath, args, { maxBuffer: 16 * 1024 * 1024 }, (_, out, err) => resolve(out + err)),
  )
  assert.match(said, /^\d{3,} passed, 0 failed, 0 skipped$/m, said)
})
