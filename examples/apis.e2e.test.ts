import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { opened } from '../packages/sdk/src/protect/opened.ts'
import { serveFetch } from '../packages/sdk/test/fetch-server.ts'
import { startKeyrail } from '../packages/sdk/test/service.ts'

/** Runs each example as its reader does, against a real service, and calls it over a socket. */

const { settings, issue, vendor, service } = await startKeyrail()
const root = join(import.meta.dirname, '..')
const month = { id: 'month', limit: 4, window_ms: 2_678_400_000, algorithm: 'fixed', scope: 'key' }
const env = {
  KEYRAIL_URL: settings.url,
  KEYRAIL_SECRET_KEY: await serverKey(),
  KEYRAIL_PROJECT: settings.project,
  PORT: '0',
}

/** What a server receives: a key that can do what the SDK does, and nothing else. */
async function serverKey(): Promise<string> {
  const body = { env: 'live', preset: 'node', project_ids: [settings.project] }
  const made = await service.ask('POST', '/v1/secret_keys', { token: vendor.live, body })
  assert.equal(made.status, 201)
  return made.body.key
}

/** @returns its address, and a function that ends it and returns its exit code */
async function run(file: string) {
  const child = spawn(process.execPath, ['bin/node.mjs', file], {
    cwd: root,
    env: { ...process.env, ...env },
  })
  after(() => void child.kill('SIGKILL'))
  let said = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      said += text
    })
  }
  const exited = once(child, 'exit')
  while (!/http:\/\/\S+/.test(said)) {
    await Promise.race([once(child.stdout, 'data'), exited.then(() => assert.fail(`${file} ended: ${said}`))])
  }
  return {
    url: /http:\/\/\S+/.exec(said)?.[0] ?? '',
    async stop() {
      child.kill('SIGTERM')
      const [code] = await exited
      return `${code}`
    },
  }
}

interface Asked {
  key?: string
  method?: string
}
const ask = (url: string, { key, method = 'GET' }: Asked = {}) =>
  fetch(`${url}/payments`, {
    method,
    headers: {
      ...(key !== undefined && { authorization: `Bearer ${key}` }),
      ...(method === 'POST' && { 'content-type': 'application/json', 'idempotency-key': 'once' }),
    },
    ...(method === 'POST' && { body: '{}' }),
  })

/** What each example promises: keys, a payment that is made once, limits. */
async function tryApi(start: () => Promise<string>) {
  // Issued before the example starts, so that the example knows the key; the tenant is used by this test alone.
  const customer = `org_${randomUUID()}`
  const { id } = (
    await service.ask('POST', '/v1/tenants', { token: vendor.live, body: { external_id: customer } })
  ).body
  const { key } = await issue({ tenant_id: id, rate_limits: [month] })
  const url = await start()
  assert.equal((await ask(url)).status, 401)
  const read = await ask(url, { key })
  assert.deepEqual([read.status, await read.json()], [200, { customer }])
  const paid = { id: 1, customer }
  for (const replayed of [null, 'true']) {
    const answer = await ask(url, { key, method: 'POST' })
    assert.deepEqual([answer.status, await answer.json()], [201, paid])
    assert.equal(answer.headers.get('idempotent-replayed'), replayed)
  }
  assert.match((await ask(url, { key })).headers.get('ratelimit') ?? '', /r=0/)
  assert.equal((await ask(url, { key })).status, 429)
}

for (const name of ['express', 'fastify', 'hono']) {
  test(`the ${name} example does what it promises, and ends on SIGTERM`, async () => {
    let stop = async () => ''
    await tryApi(async () => {
      const api = await run(`examples/${name}-api/server.ts`)
      stop = api.stop
      return api.url
    })
    assert.equal(await stop(), '0')
  })
}

test('the Nest example does what it promises, and ends on SIGTERM', async () => {
  // Below the packages that it imports.
  const cache = join(root, 'node_modules', '.cache')
  mkdirSync(cache, { recursive: true })
  const out = mkdtempSync(join(cache, 'keyrail-nest-'))
  after(() => rmSync(out, { recursive: true, force: true }))
  const compiler = join(root, 'node_modules', 'typescript', 'bin', 'tsc')
  const compile = [compiler, '-p', 'examples/nest-api', '--outDir', out]
  const { status, stdout } = spawnSync(process.execPath, compile, { cwd: root, encoding: 'utf8' })
  assert.equal(status, 0, stdout)
  let stop = async () => ''
  await tryApi(async () => {
    const api = await run(join(out, 'server.js'))
    stop = api.stop
    return api.url
  })
  assert.equal(await stop(), '0')
})

test('the route handlers of the Next example do what they promise', async () => {
  await tryApi(async () => {
    Object.assign(process.env, env)
    const { GET, POST } = await import('./next-api/app/payments/route.ts')
    // A server of Next runs until it is stopped; this process must end by itself.
    const { protection } = await import('./next-api/app/protection.ts')
    after(async () => await (await opened(protection)).keyring.close?.())
    return serveFetch(request => (request.method === 'POST' ? POST : GET)(request))
  })
})
