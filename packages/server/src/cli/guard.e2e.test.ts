import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { Installation } from '../../test/installation.ts'
import { until } from '../../test/until.ts'

const installation = new Installation()
after(() => installation.remove())

const least = {
  // Nothing listens there: the guard goes on trying.
  KEYRAIL_URL: 'http://127.0.0.1:9',
  KEYRAIL_SECRET_KEY: 'krsk_live_0nNuRGeQwwshfZ3vCy7NkmpUSxokFPgE2ZQOxa',
  KEYRAIL_PROJECT: '01a227a4-b509-75fb-b4cc-40b6ccd5e2e6',
  GUARD_LISTEN: '127.0.0.1:0',
}

test('wrong settings of the guard are named, and end it with 1', async () => {
  for (const [env, fault] of [
    [{ KEYRAIL_URL: '', GUARD_LISTEN: '0.0.0.0:1' }, /^Error: KEYRAIL_URL is not set$/m],
    [{ GUARD_LISTEN: '0.0.0.0:1' }, /^Error: GUARD_SECRET is not set/m],
    [{ KEYRAIL_SECRET_KEY: 'krsk_live_x' }, /^Error: KEYRAIL_SECRET_KEY has 11 characters/m],
    [{ KEYRAIL_URL: 'http://keys.example.com' }, /^Error: KEYRAIL_URL is http, .* set GUARD_INSECURE=on/m],
    [{ KEYRAIL_PROJECT: 'x' }, /^Error: KEYRAIL_PROJECT must be a uuid$/m],
  ] as const) {
    const { code, err } = await installation.start(['guard'], { ...least, ...env }).ended
    assert.equal(code, 1, err)
    assert.match(err, fault)
    assert.ok(!err.includes(least.KEYRAIL_SECRET_KEY))
  }
})

test('the guard fails closed without a service, reloads on SIGHUP, and ends with 0 on SIGTERM', async () => {
  const file = join(installation.place.temp, 'routes.json')
  writeFileSync(file, '{"routes":[]}')
  const { child, output, ended } = installation.start(['guard'], { ...least, GUARD_ROUTES: file })
  const address = () => /answers at (\S+)"/.exec(output.err)?.[1]
  await until(() => address() !== undefined, 'the guard listens')
  const statusOf = async (path: string) => (await fetch(`${address()}${path}`)).status
  assert.deepEqual([await statusOf('/healthz'), await statusOf('/readyz')], [200, 503])
  assert.equal(await statusOf('/ext-authz/open'), 403)
  writeFileSync(file, '{"routes":[{"path":"/open","public":true},{"path":"/orders"}]}')
  child.kill('SIGHUP')
  await until(async () => (await statusOf('/ext-authz/open')) === 200, 'the table was read again')
  const headers = { authorization: `Bearer kr_live_${'x'.repeat(38)}` }
  const { status } = await fetch(`${address()}/ext-authz/orders`, { headers })
  assert.ok(status === 503 || status === 401, String(status))
  child.kill('SIGTERM')
  const { code, err } = await ended
  assert.equal(code, 0, err)
})
