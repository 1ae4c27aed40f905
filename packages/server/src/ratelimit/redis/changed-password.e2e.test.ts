import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { Redis } from 'ioredis'
import { startHarness } from '../../../test/harness.ts'
import { startRedis } from '../../../test/redis-server.ts'
import { until } from '../../../test/until.ts'
import { makeVendor } from '../../../test/vendor.ts'

const folder = mkdtempSync(join(tmpdir(), 'keyrail-redis-url-'))
after(() => rmSync(folder, { recursive: true }))

test('a password that changes in the file of REDIS_URL_FILE is used without a restart', async () => {
  const server = await startRedis(['--requirepass', 'first'])
  const file = join(folder, 'redis-url')
  const urlWith = (password: string) => server.url.replace('//', `//:${password}@`)
  writeFileSync(file, urlWith('first'))
  const harness = await startHarness({ redisUrl: urlWith('first'), valueFiles: { redisUrl: file } })
  const vendor = await makeVendor(harness)
  const body = {
    project_id: vendor.projectId,
    env: 'live',
    limits: [{ id: 'burst', limit: 1000, window_ms: 60_000, algorithm: 'fixed', scope: 'key' }],
  }
  const check = () => harness.ask('POST', '/v1/ratelimit/check', { token: vendor.live, body })
  assert.equal((await check()).status, 200)

  const admin = new Redis(urlWith('first'))
  await admin.config('SET', 'requirepass', 'second')
  await admin.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes')
  await until(async () => (await check()).status === 503)
  assert.equal((await check()).body.code, 'unavailable')

  writeFileSync(file, `${urlWith('second')}\r\n`)
  await until(async () => (await check()).status === 200)

  // As while the file is replaced: the login that is known stands.
  rmSync(file)
  await admin.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes')
  await until(async () => (await check()).status === 503)
  writeFileSync(file, urlWith('second'))
  await until(async () => (await check()).status === 200)
  admin.disconnect()
})
