import assert from 'node:assert/strict'
import { cpSync, globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { test } from 'node:test'
import { drawKey } from './keys.ts'
import { buildNext } from './next-app.ts'
import { installPacked } from './packed.ts'
import { installRuntimes, runtimesFolder } from './runtimes.ts'
import { startKeyrail } from './service.ts'
import { until } from './until.ts'

/** The example for Next with the installed package, built and served by Next. */

await installRuntimes()
const { settings, issue, vendor, service } = await startKeyrail()
// Below the folder of Next, because Next must be resolvable from there.
const { folder } = await installPacked(join(runtimesFolder, '.work'))
cpSync(join(import.meta.dirname, '..', '..', '..', 'examples', 'next-api'), folder, { recursive: true })
const root = JSON.stringify(runtimesFolder)
writeFileSync(
  join(folder, 'next.config.mjs'),
  `export default { turbopack: { root: ${root} }, outputFileTracingRoot: ${root} }\n`,
)
mkdirSync(join(folder, 'app', 'reports', '[year]'), { recursive: true })
writeFileSync(
  join(folder, 'app', 'reports', '[year]', 'route.ts'),
  `import { withKey } from '@keyrail/sdk/next'
  import { protection } from '../../protection.ts'
  export const GET = withKey(
    protection,
    async (_request, _keyed, { params }: RouteContext<'/reports/[year]'>) => Response.json(await params),
    { scopes: ['reports:read'] },
  )
  `,
)
mkdirSync(join(folder, 'app', 'edge'))
writeFileSync(
  join(folder, 'app', 'edge', 'route.ts'),
  `import { withKey } from '@keyrail/sdk/next'
  import { createWorkerKeyring, type WorkerKeyring } from '@keyrail/sdk/worker'
  import { after } from 'next/server'
  export const runtime = 'edge'
  let keyring: WorkerKeyring | undefined
  export async function GET(request: Request) {
    const { KEYRAIL_URL = '', KEYRAIL_SECRET_KEY = '', KEYRAIL_PROJECT = '' } = process.env
    keyring ??= createWorkerKeyring({
      url: KEYRAIL_URL,
      secretKey: KEYRAIL_SECRET_KEY,
      project: KEYRAIL_PROJECT,
    })
    await keyring.refresh({ waitUntil: after })
    return withKey(keyring, (_request, { apiKey }) => Response.json({ customer: apiKey.tenantId }))(request)
  }
  `,
)
const next = createRequire(join(runtimesFolder, 'package.json')).resolve('next/dist/bin/next')
const serve = await buildNext(next, folder)
const start = (secretKey: string) => serve({ ...settings, secretKey })

async function ask(url: string, key?: string, init: RequestInit = {}) {
  const authorization = key === undefined ? {} : { authorization: `Bearer ${key}` }
  const response = await fetch(url, { ...init, headers: { ...authorization, ...init.headers } })
  return { status: response.status, headers: response.headers, text: await response.text() }
}

test('a Next build serves keys, scopes, limits and idempotency', async () => {
  const month = { id: 'month', limit: 5, window_ms: 2_678_400_000, algorithm: 'fixed', scope: 'key' }
  const { key } = await issue({ rate_limits: [month] })
  const reader = await issue({ scopes: ['reports:read'] })
  const { url, child, ended, output } = await start(settings.secretKey)
  const refusals = []
  for (const presented of [undefined, 'x', drawKey()]) {
    const { status, text } = await ask(`${url}/payments`, presented)
    refusals.push([status, JSON.parse(text).code])
  }
  assert.deepEqual(refusals, [
    [401, 'missing_key'],
    [401, 'malformed_key'],
    [401, 'unknown_key'],
  ])
  const read = await ask(`${url}/payments`, key)
  const { body: tenant } = await service.ask('GET', `/v1/tenants/${vendor.tenantId}`, { token: vendor.live })
  const ofCustomer = JSON.stringify({ customer: tenant.external_id })
  assert.deepEqual([read.status, read.text], [200, ofCustomer], output())
  assert.match(read.headers.get('ratelimit') ?? '', /^"month";r=4;/)

  const narrow = await ask(`${url}/reports/2026`, key)
  assert.deepEqual([narrow.status, JSON.parse(narrow.text).code], [403, 'insufficient_scope'])
  const report = await ask(`${url}/reports/2026`, reader.key)
  assert.deepEqual([report.status, report.text], [200, '{"year":"2026"}'])

  for (const replayed of [null, 'true']) {
    const { status, text, headers } = await ask(`${url}/payments`, key, {
      method: 'POST',
      body: '{"amount":1}',
      headers: { 'idempotency-key': 'once' },
    })
    assert.deepEqual([status, JSON.parse(text).id, headers.get('idempotent-replayed')], [201, 1, replayed])
  }
  const other = await ask(`${url}/payments`, key, {
    method: 'POST',
    body: '{"amount":2}',
    headers: { 'idempotency-key': 'once' },
  })
  assert.equal(other.status, 422)
  assert.equal((await ask(`${url}/payments`, key)).status, 200)
  assert.equal((await ask(`${url}/payments`, key)).status, 429)

  // Polls continue after the first request, and bypass Next's cache of fetched answers.
  const { id, key: later } = await issue()
  await until(async () => (await ask(`${url}/payments`, later)).status === 200, 'the new key is known')
  await service.ask('POST', `/v1/keys/${id}/revoke`, { token: vendor.live })
  await until(async () => (await ask(`${url}/payments`, later)).status === 401, 'the revoked key is refused')
  child.kill('SIGTERM')
  await ended
  const kept = globSync('.next/**/*', { cwd: folder, withFileTypes: true }).filter(file => file.isFile())
  assert.ok(kept.length > 0)
  for (const { parentPath, name } of kept) {
    assert.ok(!readFileSync(join(parentPath, name)).includes(vendor.tenantId), name)
  }
})

test('Next verifies keys in its edge runtime, without Node', async () => {
  const { key } = await issue()
  const { url, child, ended, output } = await start(settings.secretKey)
  const answers = [
    await ask(`${url}/edge`),
    await ask(`${url}/edge`, drawKey()),
    await ask(`${url}/edge`, key),
  ]
  assert.deepEqual(
    answers.map(({ status }) => status),
    [401, 401, 200],
    output(),
  )
  assert.equal(answers[2]?.text, JSON.stringify({ customer: vendor.tenantId }))
  child.kill('SIGTERM')
  await ended
})

test('Next with a refused secret leaves no route open, and shows no secret', async () => {
  const { key } = await issue()
  const wrong = drawKey('krsk_live')
  const { url, child, ended, output } = await start(wrong)
  const { status, text } = await ask(`${url}/payments`, key)
  assert.equal(status, 500)
  child.kill('SIGTERM')
  await ended
  assert.match(output(), /KeyrailError/)
  assert.ok(!(output() + text).includes(wrong))
})
