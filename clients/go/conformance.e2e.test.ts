import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { promisify } from 'node:util'
import { buildDriver } from './driver-program.ts'

const run = promisify(execFile)
const folder = mkdtempSync(join(tmpdir(), 'keyrail-go-driver-'))
after(() => rmSync(folder, { recursive: true, force: true }))

test('the client for Go passes every case of the suite, and skips none', async () => {
  const driver = join(folder, 'driver')
  await buildDriver(driver)
  const main = join(import.meta.dirname, '../conformance/main.ts')
  const { stdout } = await run(process.execPath, [main, '--', driver, '-conformance'], {
    maxBuffer: 16 * 1024 * 1024,
  }).catch((error: { stdout: string; message: string }) => ({ stdout: error.stdout || error.message }))
  assert.match(stdout, /^\d+ passed, 0 failed, 0 skipped\n$/)
})
