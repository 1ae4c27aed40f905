import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { after, test } from 'node:test'
import { testCluster } from '../../../test/database.ts'
import { ask, Installation, looksLikeStack, type Running, urlOf } from '../../../test/installation.ts'
import { startPair } from '../../../test/standby.ts'
import { until } from '../../../test/until.ts'

const installation = new Installation({
  DATABASE_URL: 'postgres://nobody@localhost/nothing',
  SERVICE_DASHBOARD: 'off',
})
after(() => installation.remove())

const start = (url: string) => installation.start(['serve'], { DATABASE_URL: url })
const untilWaits = (service: Running, reason: RegExp) =>
  until(
    () =>
      service.child.exitCode !== null ||
      service.output.out
        .split('\n')
        .some(line => line.includes('"msg":"waiting for the database"') && reason.test(line)),
    String(reason),
  )
const stop = async ({ child, ended }: Running) => {
  child.kill('SIGTERM')
  const { code, out, err } = await ended
  assert.equal(code, 0, out + err)
  assert.ok(!looksLikeStack(out + err), out + err)
}

test('serve waits for a database that is away, says why, and stops at a signal', async () => {
  const cases: [url: string, reason: RegExp][] = [
    ['postgres://localhost:1/keyrail', /localhost:1 cannot be reached: nothing listens there/],
    ['postgres://no-such-host.invalid/keyrail', /no-such-host\.invalid:5432 cannot be reached/],
    ['postgres:///x?host=/nowhere', /\/nowhere:5432 cannot be reached: its socket does not exist/],
    [
      'postgres://localhost:1,localhost:2/keyrail',
      /no host of the list lets the service in: localhost:1: .*ECONNREFUSED/,
    ],
  ]
  const waiting = cases.map(([url, reason]) => ({ service: start(url), reason }))
  await Promise.all(waiting.map(({ service, reason }) => untilWaits(service, reason)))
  await Promise.all(waiting.map(({ service }) => stop(service)))
})

test('serve ends at once where the server refuses its login or has no such database', async () => {
  const cluster = testCluster()
  for (const [given, reason] of [
    [{ password: 'not its password' }, /password/],
    [{ database: 'no_such_database' }, /no_such_database/],
  ] as const) {
    const { code, err } = await start(urlOf({ ...cluster, ...given })).ended
    assert.notEqual(code, 0)
    assert.match(err, reason)
  }
})

test('a signal ends the wait for a server that takes connections and says nothing', async () => {
  const silent = createServer(() => {}).listen(0, '127.0.0.1')
  await once(silent, 'listening')
  const met = once(silent, 'connection')
  const { port } = silent.address() as AddressInfo
  const service = start(`postgres://nobody@127.0.0.1:${port}/keyrail`)
  await met
  await stop(service)
  silent.close()
})

test('serve waits while its address leads to a standby, and serves once that is the primary', async () => {
  const pair = await startPair()
  after(() => pair.remove())
  const { user, password, database, host, port } = pair.connection
  pair.leadTo('standby')
  const service = start(
    `postgres://${user}:${encodeURIComponent(String(password))}@${host}:${port}/${database}`,
  )
  await untilWaits(service, /is a standby/)
  pair.leadTo('primary')
  const { url } = await installation.listening(service)
  assert.equal((await ask(`${url}/readyz`))?.status, 200)
  assert.match(service.output.out, /"msg":"the database can be used"/)
  await stop(service)
})
