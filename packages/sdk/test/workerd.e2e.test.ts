import assert from 'node:assert/strict'
import { mkdirSync, readFileSync } from 'node:fs'
import { createRequire, stripTypeScriptTypes } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { project, secretKey, startFeedService } from './feed-service.ts'
import { drawKey, policyKey } from './keys.ts'
import { installPacked } from './packed.ts'
import { installRuntimes } from './runtimes.ts'
import { startKeyrail } from './service.ts'
import { until } from './until.ts'
import { serveWorker, type WorkerOptions } from './workerd.ts'

/** The parts that need no disk, on Cloudflare's runtime with the real service. */

await installRuntimes()
const { settings, issue, vendor, service } = await startKeyrail()
const { folder, home } = await installPacked(tmpdir())
const bindings = {
  KEYRAIL_URL: settings.url,
  KEYRAIL_SECRET_KEY: settings.secretKey,
  KEYRAIL_PROJECT: settings.project,
}

/** Makes everything when the worker is loaded, where the host allows neither I/O nor randomness. */
const program = `
  import { env } from 'cloudflare:workers'
  import { createIdempotency, createKeyrail, createKeyring, createLimiter, createUsageReporter, createWorkerKeyring } from './sdk/worker.js'
  import { createAdmin } from './sdk/admin.js'
  import { withKey } from './sdk/next.js'

  const settings = { url: env.KEYRAIL_URL, secretKey: env.KEYRAIL_SECRET_KEY, project: env.KEYRAIL_PROJECT }
  const keyring = createWorkerKeyring({ ...settings, pollIntervalMs: 100 })
  const admin = createAdmin({ url: settings.url, secretKey: settings.secretKey })
  const patient = { ...settings, timeoutMs: 60_000 }
  const protection = { limiter: createLimiter(patient), idempotency: createIdempotency(patient) }
  let calls = 0
  const read = withKey(keyring, (_, { apiKey }) => Response.json({ tenantId: apiKey.tenantId }), protection)
  const write = withKey(keyring, async request => Response.json({ calls: ++calls, ...(await request.json()) }, { status: 201 }), protection)

  export default {
    async fetch(request, _env, context) {
      if (new URL(request.url).pathname === '/wrong') {
        return Response.json([createKeyrail, createKeyring, createUsageReporter, () => createWorkerKeyring({ ...settings, cacheDir: '/tmp/a' })].map(make => {
          try {
            make()
          } catch (error) {
            return error.message
          }
        }))
      }
      if (new URL(request.url).pathname === '/issue') {
        const { tenantId } = await request.json()
        return Response.json(await admin.keys.create({ projectId: settings.project, tenantId, env: 'live' }))
      }
      await keyring.refresh(context)
      return (request.method === 'POST' ? write : read)(request, {})
    },
  }
`

let workers = 0
async function start(flags: readonly string[], more: Partial<WorkerOptions> = {}): Promise<string> {
  const place = join(folder, `worker-${workers++}`)
  mkdirSync(place)
  return serveWorker({ folder: place, home, program, bindings, flags, ...more })
}

const ask = async (url: string, key?: string, init: RequestInit = {}) => {
  const authorization = key === undefined ? {} : { authorization: `Bearer ${key}` }
  const response = await fetch(url, { ...init, headers: { ...authorization, ...init.headers } })
  return { status: response.status, headers: response.headers, body: JSON.parse(await response.text()) }
}

for (const flags of [[], ['nodejs_compat']]) {
  const name = flags.length === 0 ? 'a worker without Node' : 'a worker with nodejs_compat'

  test(`${name}: concurrent requests before the first keys are all judged`, async () => {
    const { key } = await issue()
    const url = await start(flags)
    const all = await Promise.all(Array.from({ length: 20 }, () => ask(url, key)))
    assert.deepEqual(
      all.map(({ status, body }) => [status, body.tenantId]),
      all.map(() => [200, vendor.tenantId]),
    )
    const wrong = [await ask(url), await ask(url, 'x'), await ask(url, drawKey())]
    assert.deepEqual(
      wrong.map(({ status, body }) => [status, body.code]),
      [
        [401, 'missing_key'],
        [401, 'malformed_key'],
        [401, 'unknown_key'],
      ],
    )
  })

  test(`${name}: limits are charged, and a repetition is replayed`, async () => {
    const month = { id: 'month', limit: 3, window_ms: 2_678_400_000, algorithm: 'fixed', scope: 'key' }
    const { key } = await issue({ rate_limits: [month] })
    const url = await start(flags)
    const pay = (body: string) =>
      ask(url, key, { method: 'POST', body, headers: { 'idempotency-key': flags.join() || 'bare' } })
    const text = '{"note":"☃ é"}'
    for (const replayed of [null, 'true']) {
      const { status, body, headers } = await pay(text)
      assert.deepEqual(
        [status, body, headers.get('idempotent-replayed')],
        [201, { calls: 1, note: '☃ é' }, replayed],
      )
    }
    assert.equal((await pay('{}')).status, 422)
    const denied = await ask(url, key)
    assert.deepEqual([denied.status, denied.body.code], [429, 'rate_limited'])
  })

  test(`${name}: requests bring new keys and revocations`, async () => {
    const url = await start(flags)
    const first = await issue()
    assert.equal((await ask(url, first.key)).status, 200)
    const { id, key } = await issue()
    await until(async () => (await ask(url, key)).status === 200, 'the new key is known')
    const revoked = await service.ask('POST', `/v1/keys/${id}/revoke`, { token: vendor.live })
    assert.ok(revoked.status < 300)
    await until(async () => (await ask(url, key)).status === 401, 'the revoked key is refused')
    assert.equal((await ask(url, first.key)).status, 200)
  })

  test(`${name}: waiting requests get the first keys, also if the one that polls is aborted`, async () => {
    const feed = await startFeedService()
    const key = drawKey()
    feed.upsert(policyKey(key, 1))
    const { promise, resolve } = Promise.withResolvers<void>()
    feed.instead.push({ before: () => promise })
    try {
      const ofFeed = { KEYRAIL_URL: feed.url, KEYRAIL_SECRET_KEY: secretKey, KEYRAIL_PROJECT: project }
      const url = await start(flags, { bindings: ofFeed })
      const leaving = new AbortController()
      const first = ask(url, key, { signal: leaving.signal })
      await until(() => feed.asked.length > 0, 'the first request asks')
      const second = ask(url, key)
      leaving.abort()
      await assert.rejects(first, { name: 'AbortError' })
      resolve()
      assert.equal((await second).status, 200)
      // Another poll may have followed by now.
      assert.deepEqual(
        feed.paths.filter(path => path === 'snapshot'),
        ['snapshot'],
      )
    } finally {
      await feed.close()
    }
  })

  test(`${name}: the admin client issues a working key`, async () => {
    const url = await start(flags)
    const { body } = await ask(`${url}/issue`, undefined, {
      method: 'POST',
      body: JSON.stringify({ tenantId: vendor.tenantId }),
    })
    await until(async () => (await ask(url, body.key)).status === 200, 'the key is known')
  })

  test(`${name}: parts that cannot work there throw when they are made`, async () => {
    const { body } = await ask(`${await start(flags)}/wrong`)
    assert.match(body[0], /no createKeyrail: use createWorkerKeyring/)
    assert.match(body[1], /use createWorkerKeyring/)
    assert.match(body[2], /cannot report usage/)
    assert.match(body[3], /no cacheDir: a worker has no disk/)
  })
}

const page = readFileSync(join(import.meta.dirname, '../../../docs/sdk/workers.md'), 'utf8')

/** Checks a worker of the page. */
async function tryWorker(text: string, libraries: WorkerOptions['libraries'] = []): Promise<void> {
  const { key } = await issue()
  const url = await start([], {
    program: stripTypeScriptTypes(text).replaceAll(/'@keyrail\/sdk\/(\w+)'/g, `'./sdk/$1.js'`),
    libraries,
  })
  const answers = [await ask(url), await ask(url, drawKey()), await ask(url, key)]
  assert.deepEqual(
    answers.map(({ status }) => status),
    [401, 401, 200],
  )
  const { body: tenant } = await service.ask('GET', `/v1/tenants/${vendor.tenantId}`, { token: vendor.live })
  assert.deepEqual(answers[2]?.body, { customer: tenant.external_id })
}

test('the worker of docs/sdk protects an API', () =>
  tryWorker(/```ts\n([\s\S]*?)```/.exec(page)?.[1] ?? assert.fail('no code')))

test('the line for Hono in docs/sdk keeps the keys of a worker current', async () => {
  const line = /`(app\.use\(async [^`]+)`/.exec(page)?.[1] ?? assert.fail('no line')
  const hono = dirname(createRequire(import.meta.url).resolve('hono')).replace(/cjs$/, '')
  const text = `
    import { env } from 'cloudflare:workers'
    import { createWorkerKeyring } from '@keyrail/sdk/worker'
    import { requireKey } from '@keyrail/sdk/hono'
    import { Hono } from './hono/index.js'
    const { KEYRAIL_URL: url, KEYRAIL_SECRET_KEY: secretKey, KEYRAIL_PROJECT: project } = env
    const keyring = createWorkerKeyring({ url, secretKey, project })
    const app = new Hono()
    ${line}
    app.use(requireKey(keyring))
    app.get('/', c => c.json({ customer: c.get('apiKey').externalId }))
    export { app as default }
  `
  await tryWorker(text, [{ name: 'hono', folder: hono, entries: ['index.js'] }])
})
