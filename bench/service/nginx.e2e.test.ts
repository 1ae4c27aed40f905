import assert from 'node:assert/strict'
import { statSync } from 'node:fs'
import { dirname } from 'node:path'
import { test } from 'node:test'
import { replaceFile } from './fleet-trigger.ts'
import { startNginx } from './nginx.ts'

test('nginx answers a path with its file for any query, and a new text at once', async t => {
  const nginx = await startNginx({ core: null })
  t.after(() => nginx.close())
  const file = nginx.fileOf('/v1/policy/delta')
  replaceFile(file, '{"version":1}')
  const first = await fetch(`${nginx.url}/v1/policy/delta?since=0&node=a`)
  const etag = first.headers.get('etag') ?? ''
  assert.equal(await first.text(), '{"version":1}')

  const ask = () => fetch(`${nginx.url}/v1/policy/delta?since=1`, { headers: { 'if-none-match': etag } })
  assert.equal((await ask()).status, 304)
  replaceFile(file, '{"version":2,"changes":[]}')
  const second = await ask()
  assert.deepEqual([second.status, await second.text()], [200, '{"version":2,"changes":[]}'])
})

test('close stops nginx and deletes its files', async () => {
  const nginx = await startNginx({ core: null })
  const folder = dirname(nginx.fileOf('/x'))
  await nginx.close()
  await assert.rejects(fetch(`${nginx.url}/ready`))
  assert.throws(() => statSync(folder), /ENOENT/)
})
