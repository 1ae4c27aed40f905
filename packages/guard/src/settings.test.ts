import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { ask, leastEnvironment, startGuard } from '../test/stage.ts'
import { readAddress } from './listen.ts'
import { type Environment, readSettings, SettingsError } from './settings.ts'

const folder = mkdtempSync(join(tmpdir(), 'keyrail-guard-'))
after(() => rmSync(folder, { recursive: true, force: true }))
const write = (name: string, text: string): string => {
  writeFileSync(join(folder, name), text)
  return join(folder, name)
}

function faultsOf(env: Environment): readonly string[] {
  try {
    readSettings({ ...leastEnvironment, ...env })
    return []
  } catch (error) {
    assert.ok(error instanceof SettingsError)
    return error.faults
  }
}

test('every wrong setting is named, and no secret is shown', () => {
  assert.deepEqual(faultsOf({}), [])
  for (const [env, fault] of [
    [{ KEYRAIL_URL: '' }, /^KEYRAIL_URL is not set$/],
    [{ KEYRAIL_PROJECT: undefined }, /^KEYRAIL_PROJECT is not set$/],
    [{ KEYRAIL_SECRET_KEY: '' }, /^KEYRAIL_SECRET_KEY is not set$/],
    [{ GUARD_LISTEN: '8070' }, /^GUARD_LISTEN must be HOST:PORT, or unix:/],
    [{ GUARD_LISTEN: '127.0.0.1:99999' }, /^GUARD_LISTEN must be/],
    [{ GUARD_LISTEN: `unix:/${'a'.repeat(107)}` }, /^GUARD_LISTEN must be/],
    [{ GUARD_LISTEN: '0.0.0.0:8070' }, /^GUARD_SECRET is not set, and GUARD_LISTEN is not this machine/],
    [{ GUARD_SECRET: 'short' }, /^GUARD_SECRET must be 32 to 512/],
    [{ GUARD_SECRET_FILE: '/nowhere/x' }, /^GUARD_SECRET_FILE cannot be read: \/nowhere\/x \(ENOENT\)$/],
    [
      { KEYRAIL_SECRET_KEY_FILE: '/nowhere/x' },
      /^KEYRAIL_SECRET_KEY_FILE and KEYRAIL_SECRET_KEY are both set$/,
    ],
    [{ GUARD_ENV: 'prod' }, /^GUARD_ENV must be live, test, both$/],
    [{ GUARD_LIMITS: 'maybe' }, /^GUARD_LIMITS must be on, prepay, off$/],
    [{ GUARD_MAX_CONNECTIONS: '0' }, /^GUARD_MAX_CONNECTIONS must be an integer from 1 to 65536$/],
    [{ GUARD_KEY_HEADERS: 'a b' }, /^GUARD_KEY_HEADERS must be names of headers/],
    [{ GUARD_ROUTE: 'x' }, /^GUARD_ROUTE is unknown$/],
    [{ GUARD_ROUTES: write('bad.json', '{}') }, /^GUARD_ROUTES routes must be an array$/],
  ] as const) {
    const faults = faultsOf(env)
    assert.ok(
      faults.some(each => fault.test(each)),
      `${JSON.stringify(env)}: ${faults}`,
    )
    for (const each of faults) assert.ok(!each.includes('short'))
  }
  const faults = faultsOf({ GUARD_METHOD_HEADER: 'x-method' })
  assert.deepEqual(faults, ['GUARD_URI_HEADER is not set, and the other of the two is'])
})

test('addresses of this machine need no secret, and a secret may come from a file', () => {
  for (const listen of ['127.0.0.1:0', '127.8.9.1:80', '[::1]:80', 'localhost:80', 'unix:/run/guard.sock'])
    assert.deepEqual(faultsOf({ GUARD_LISTEN: listen }), [], listen)
  assert.deepEqual(readAddress('[::]:80'), { kind: 'port', host: '::', port: 80, isLoopback: false })
  const file = write('secret', `${'s'.repeat(40)}\n`)
  const { first } = readSettings({ ...leastEnvironment, GUARD_LISTEN: '0.0.0.0:80', GUARD_SECRET_FILE: file })
  assert.equal(first.secret, 's'.repeat(40))
})

const handed = { GUARD_METHOD_HEADER: 'X-Method', GUARD_URI_HEADER: 'x-uri' }
const tableOf = (...routes: object[]) => JSON.stringify({ routes })

test('a table is asked by the headers of the proxy, and Envoy by its own method and path', async () => {
  const routes = tableOf(
    { path: '/health', public: true },
    { methods: ['GET'], path: '/orders', scopes: ['read'] },
  )
  const { keyrail, withKey, ask } = await startGuard({
    ...handed,
    GUARD_ROUTES: write('routes.json', routes),
  })
  const { key } = keyrail.issue({ scopes: ['read'] })
  const at = (method: string, uri: string) => ({ 'x-method': method, 'x-uri': uri })
  assert.equal((await withKey('/auth', key, at('GET', '/orders'))).status, 200)
  assert.equal((await ask('/auth', { headers: at('GET', '/health?x') })).status, 200)
  assert.equal((await withKey('/auth', key, at('POST', '/orders'))).body.code, 'unknown_route')
  assert.equal((await withKey('/auth', key, at('GET', '/health/../orders'))).body.code, 'ambiguous_path')
  assert.equal((await ask('/auth?scope=read', { headers: at('GET', '/health') })).body.code, 'missing_key')
  assert.equal((await withKey('/auth', key)).status, 500)
  const twice = { 'x-method': 'GET', 'x-uri': ['/health', '/orders'] }
  assert.equal((await withKey('/auth', key, twice)).status, 500)

  assert.equal((await withKey('/ext-authz/orders?cost=0&cots', key)).status, 200)
  assert.equal((await ask('/ext-authz/health?scope=x')).status, 200)
  assert.equal((await ask('/ext-authz/orders', { method: 'POST' })).body.code, 'unknown_route')
  assert.equal((await ask('/ext-authz/orders', { headers: at('GET', '/health') })).body.code, 'missing_key')
})

test('without headers of the proxy a table serves Envoy alone', async () => {
  const file = write('envoy.json', tableOf({ path: '/**' }))
  const { keyrail, withKey } = await startGuard({ GUARD_ROUTES: file })
  const { key } = keyrail.issue()
  assert.equal((await withKey('/ext-authz/orders', key)).status, 200)
  const { status, body } = await withKey('/auth', key)
  assert.deepEqual([status, body.code], [500, 'internal_error'])
})

test('a reload applies table and secrets together, and a fault changes nothing', async () => {
  const file = write('live.json', tableOf({ path: '/a' }))
  const secret = write('live-secret', 'a'.repeat(32))
  const { guard, keyrail, log, withKey, url } = await startGuard({
    ...handed,
    GUARD_ROUTES: file,
    GUARD_SECRET_FILE: secret,
  })
  const { key } = keyrail.issue()
  const status = async (uri: string, sent: string) => {
    const headers = { 'x-method': 'GET', 'x-uri': uri, 'x-keyrail-guard-secret': sent.repeat(32) }
    return (await withKey('/auth', key, headers)).status
  }
  assert.deepEqual([await status('/a', 'a'), await status('/b', 'a')], [200, 403])
  write('live.json', '{"routes":')
  write('live-secret', 'b'.repeat(32))
  guard.reload()
  assert.match(log.at(-1) ?? '', /^nothing was reloaded: GUARD_ROUTES is not JSON/)
  assert.deepEqual([await status('/a', 'a'), await status('/a', 'b')], [200, 403])
  write('live.json', tableOf({ path: '/b' }))
  guard.reload()
  assert.deepEqual(
    [await status('/a', 'b'), await status('/b', 'b'), await status('/b', 'a')],
    [403, 200, 403],
  )
  const metrics = await ask(url, '/metrics', { headers: { 'x-keyrail-guard-secret': 'b'.repeat(32) } })
  assert.match(metrics.body, /^keyrail_guard_reloads_total\{result="refused"\} 1$/m)
})

test('a socket is for owner and group, and one that nobody serves is replaced', async () => {
  const path = join(folder, 'guard.sock')
  const first = await startGuard({ GUARD_LISTEN: `unix:${path}` })
  assert.equal((await ask(`unix:${path}`, '/auth')).status, 401)
  await assert.rejects(startGuard({ GUARD_LISTEN: `unix:${path}` }), /another process answers/)
  await first.guard.close(0)
  await assert.rejects(startGuard({ GUARD_LISTEN: `unix:${write('file', '')}` }), /is no socket/)
})
