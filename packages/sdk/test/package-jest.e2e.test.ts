import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { drawKey } from './keys.ts'
import { installPacked, run } from './packed.ts'
import { installRuntimes, runtimesFolder } from './runtimes.ts'
import { startKeyrail } from './service.ts'

/** The package under an unconfigured Jest, which loads only CommonJS. */

await installRuntimes()
const { settings, issue, vendor } = await startKeyrail()
const { folder } = await installPacked(tmpdir())
const jest = createRequire(join(runtimesFolder, 'package.json')).resolve('jest/bin/jest')

test('under Jest every entry can be required, and keys of the service are verified', async () => {
  const { key } = await issue({ scopes: ['orders:read'] })
  const home = join(folder, 'jest')
  mkdirSync(home)
  writeFileSync(join(home, 'package.json'), '{ "private": true }\n')
  const given = { settings: { ...settings, cacheDir: join(folder, 'cache') }, key, unknown: drawKey() }
  writeFileSync(
    join(home, 'api.test.js'),
    `const { settings, key, unknown } = ${JSON.stringify(given)}
    const { createKeyring, KeyrailError } = require('@keyrail/sdk')
    const { createTestKeyring, createTestLimiter } = require('@keyrail/sdk/testing')
    const { withKey } = require('@keyrail/sdk/next')

    test('loads', () => {
      for (const entry of ['admin', 'express', 'fastify', 'hono', 'worker'])
        expect(typeof require('@keyrail/sdk/' + entry)).toBe('object')
    })
    test('judges by itself', async () => {
      const keyring = createTestKeyring()
      const minute = { id: 'a', limit: 1, windowMs: 60_000, algorithm: 'sliding', scope: 'key' }
      const verdict = keyring.verify(keyring.issue({ rateLimits: [minute] }).key)
      expect(verdict.code).toBe('valid')
      jest.useFakeTimers()
      const limiter = createTestLimiter()
      for (const code of ['allowed', 'rate_limited']) expect((await limiter.limit(verdict)).code).toBe(code)
      jest.useRealTimers()
    })
    test('judges by the service', async () => {
      const notices = []
      const keyring = createKeyring({ ...settings, onNotice: notice => notices.push(notice.code) })
      await keyring.ready()
      expect([keyring.verify(key).tenantId, keyring.verify(unknown).code]).toEqual(['${vendor.tenantId}', 'unknown_key'])
      const GET = withKey(keyring, (_request, { apiKey }) => Response.json(apiKey.scopes))
      const headers = { authorization: 'Bearer ' + key }
      expect(await (await GET(new Request('http://localhost/', { headers }), {})).json()).toEqual(['orders:read'])
      expect((await GET(new Request('http://localhost/'), {})).status).toBe(401)
      await keyring.close()
      expect(notices).toEqual([])
    })
    test('rejects with its errors', async () => {
      const keyring = createKeyring({ ...settings, project: '${randomUUID()}', onError() {} })
      await expect(keyring.ready()).rejects.toBeInstanceOf(KeyrailError)
      await keyring.close()
    })
    `,
  )
  const result = await run(process.execPath, [jest, '--ci', '--json'], {
    cwd: home,
    env: { HOME: folder },
  }).catch(error => error)
  assert.equal(result.code, undefined, `${result.stdout}${result.stderr}`)
  const { numPassedTests, numTotalTests } = JSON.parse(result.stdout)
  assert.deepEqual([numPassedTests, numTotalTests], [4, 4])
})
