import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { ask, Installation } from '../../../test/installation.ts'

const installation = new Installation()
after(() => installation.remove())

test('the first start prints its URL and the next command, which works as printed', async () => {
  const { url, output, child, ended } = await installation.serve()
  assert.match(url, /^http:\/\/127\.0\.0\.1:\d+$/)
  assert.equal((await ask(`${url}/readyz`))?.status, 200)
  assert.equal((await fetch(`${url}/docs`)).status, 200)
  assert.ok(output.out.includes(`API reference: ${url}/docs`))
  assert.ok(output.out.includes(`Data: ${installation.dataDir} (embedded Postgres 18.`))
  assert.match(output.out, /npm run demo/)
  const curl = /^Create a workspace: (curl .+)$/m.exec(output.out)?.[1] ?? ''
  const { code, out } = await installation.run('/bin/sh', ['-c', curl]).ended
  assert.equal(code, 0)
  assert.match(JSON.parse(out).secret_key.key, /^krsk_live_/)
  child.kill('SIGTERM')
  assert.equal((await ended).code, 0)
})
