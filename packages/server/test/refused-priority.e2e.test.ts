import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { startHarness } from './harness.ts'
import { makeVendor } from './vendor.ts'

const harness = await startHarness()
const sourceOf = (path: string) => JSON.stringify(new URL(`../src/${path}`, import.meta.url).href)

test('a system that refuses a lower priority stops no verification and no large body', async () => {
  const { workspaceId } = await makeVendor(harness)
  // As a sandbox does that forbids the system call; each thread loads this first.
  const refuse = `import os from 'node:os'; import { syncBuiltinESMExports } from 'node:module'
    os.setPriority = () => { throw new Error('setPriority returned EACCES') }; syncBuiltinESMExports()`
  const program = `import { openVerifyThread } from ${sourceOf('audit/verify-thread.ts')}
    import { openJsonThread } from ${sourceOf('platform/http/body/json-thread.ts')}
    const verifying = openVerifyThread(JSON.parse(process.env.STORE))
    const { valid } = await verifying.verify(${JSON.stringify(workspaceId)})
    verifying.close()
    const reading = openJsonThread({ error() {} })
    const { large } = await reading.parse(Buffer.from('{"large":true}'), 'a sender')
    await reading.close()
    console.log(JSON.stringify({ valid, large }))`
  // A file, because a thread refuses the flags of a program that is given as text.
  const folder = mkdtempSync(join(tmpdir(), 'keyrail-priority-'))
  after(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'program.mjs')
  writeFileSync(file, program)
  const module = `data:text/javascript,${encodeURIComponent(refuse)}`
  const printed = execFileSync(process.execPath, ['--conditions=keyrail-source', '--import', module, file], {
    encoding: 'utf8',
    env: { ...process.env, STORE: JSON.stringify(harness.connection) },
  })
  assert.deepEqual(JSON.parse(printed), { valid: true, large: true })
})
