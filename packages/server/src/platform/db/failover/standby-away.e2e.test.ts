import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { chmodSync, chownSync, copyFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { standbyOf } from '../../../../test/absent-standby.ts'
import { makeCertificate } from '../../../../test/certificate.ts'
import { reportPath as codehostPath, signedReport } from '../../../../test/codehost.ts'
import { freePort } from '../../../../test/free-port.ts'
import { startHarness } from '../../../../test/harness.ts'
import { fingerprintA, newScope } from '../../../../test/idempotency-calls.ts'
import { startScratchCluster } from '../../../../test/scratch.ts'
import { patientBudgets } from '../../../../test/stores.ts'
import { until } from '../../../../test/until.ts'
import { issueKey, makeVendor } from '../../../../test/vendor.ts'
import { connect } from '../connection.ts'
import { migrate } from '../migrate/migrate.ts'
import { cancelRunning } from '../pool/cancel-request.ts'

const poolSize = 6
const cluster = await startScratchCluster({
  settings: { listen_addresses: '127.0.0.1', port: await freePort() },
})
await migrate(cluster.connection)
const harness = await startHarness(
  { databasePool: poolSize },
  { connection: cluster.connection, drop: () => cluster.remove() },
)
const { query } = harness
const vendor = await makeVendor(harness)
const impatient = await harness.startImpatient()

const standby = standbyOf(harness)

const claim = (by: typeof impatient, scope: string) =>
  by.ask('POST', '/v1/idempotency/claim', {
    token: vendor.live,
    body: { scope_hash: scope, env: 'live', fingerprint: fingerprintA },
  })
const complete = (by: typeof impatient, scope: string, lockToken: string) =>
  by.ask('POST', '/v1/idempotency/complete', {
    token: vendor.live,
    body: { scope_hash: scope, env: 'live', lock_token: lockToken, status: 200, body: '' },
  })
const createTenant = (by: typeof impatient, externalId: string, headers = {}) =>
  by.ask('POST', '/v1/tenants', {
    token: vendor.live,
    body: { external_id: externalId, name: 'Acme' },
    headers,
  })

test('while the standby is away no change succeeds, and no process of Postgres is left waiting', async t => {
  await standby.set('absent')
  t.after(() => standby.set(''))
  for (let round = 0; round < 3; round += 1) {
    const asked = [
      ...Array.from({ length: 20 }, () => createTenant(impatient, randomUUID())),
      claim(impatient, newScope()),
    ]
    let most = 0
    let isOver = false
    const watching = until(async () => {
      most = Math.max(most, (await standby.waiting()).length)
      return isOver
    })
    const heard = await Promise.all(asked)
    isOver = true
    await watching
    assert.deepEqual([...new Set(heard.map(({ status }) => status))], [503])
    assert.ok(most <= poolSize + impatient.deps.lanes.depths().length, `${most} waited`)
  }
  // The standby is still away.
  await until(async () => (await standby.waiting()).length === 0)
})

test('while the standby is away /readyz says degraded, and so does a metric', async t => {
  const readyz = async () => {
    // What an earlier test found is no longer true.
    harness.clock.skip(60_000)
    const { status, body } = await impatient.ask('GET', '/readyz')
    const metrics = await impatient.deps.metrics.text()
    return [status, body, /^keyrail_degraded\{reason="standby_away"\} (\d)$/m.exec(metrics)?.[1]]
  }
  const ready = [200, { status: 'ready' }, '0']
  assert.deepEqual(await readyz(), ready)
  await standby.set('absent')
  t.after(() => standby.set(''))
  assert.equal((await createTenant(impatient, randomUUID())).status, 503)
  assert.deepEqual(await readyz(), [200, { status: 'degraded', reasons: ['standby_away'] }, '1'])
  assert.equal((await impatient.ask('GET', '/v1/workspace', { token: vendor.live })).status, 200)
  await standby.set('')
  assert.deepEqual(await readyz(), ready)
  await until(async () => (await standby.waiting()).length === 0)
})

test('a commit whose wait is cancelled by others is not reported as done, and not done again', async t => {
  await standby.set('absent')
  t.after(() => standby.set(''))
  const externalId = randomUUID()
  const { status, body } = await standby.cancelWait(() => createTenant(harness, externalId), 'pool')
  assert.deepEqual([status, body.code], [503, 'unavailable'])
  // Postgres warns before it shows the change.
  const stored = 'select from tenants where external_id = $1'
  await until(async () => (await query(stored, [externalId])).length === 1)
})

test('an answer that no standby has yet is not repeated', async t => {
  const scope = newScope()
  const { lock_token: lockToken } = (await claim(harness, scope)).body
  const externalId = randomUUID()
  const key = { 'idempotency-key': randomUUID() }
  await standby.set('absent')
  t.after(() => standby.set(''))
  const ended = await standby.cancelWait(() => complete(harness, scope, lockToken), 'lanes writes')
  assert.equal(ended.status, 503)
  assert.equal((await standby.cancelWait(() => createTenant(harness, externalId, key), 'pool')).status, 503)

  for (const again of [
    () => complete(impatient, scope, lockToken),
    () => claim(impatient, scope),
    () => createTenant(impatient, externalId, key),
  ])
    assert.equal((await again()).status, 503)
  await standby.set('')
  assert.equal((await complete(harness, scope, lockToken)).body.verdict, 'completed')
  assert.equal((await claim(harness, scope)).body.verdict, 'replay')
  assert.equal((await createTenant(harness, externalId, key)).status, 201)
})

test('a change that is there already is confirmed before it is repeated', async t => {
  const { id, key } = await issueKey(harness, vendor)
  const revoke = (by: typeof impatient) => by.ask('POST', `/v1/keys/${id}/revoke`, { token: vendor.live })
  const leak = (by: typeof impatient) =>
    by.ask(
      'POST',
      codehostPath,
      signedReport([{ token: key, type: 'key', url: 'https://codehost.example/.env' }]),
    )
  const reportId = randomUUID()
  const hour = new Date().toISOString().replace(/:.*/, ':00:00Z')
  const report = (by: typeof impatient) =>
    by.ask('POST', '/v1/usage/reports', {
      token: vendor.live,
      body: { report_id: reportId, sample_rate: 1, records: [{ key_id: id, hour, count: 1 }] },
    })
  await standby.set('absent')
  t.after(() => standby.set(''))
  assert.equal((await standby.cancelWait(() => revoke(harness), 'pool')).status, 503)
  // Both are stored on the primary, and seen there.
  await until(async () => {
    assert.equal((await report(impatient)).status, 503)
    return (await query('select from usage_reports where report_id = $1', [reportId])).length === 1
  })
  const read = () => impatient.ask('GET', `/v1/keys/${id}`, { token: vendor.live })
  await until(async () => typeof (await read()).body.revoked_at === 'string')
  for (const again of [revoke, leak, report]) assert.equal((await again(impatient)).status, 503)
  await standby.set('')
  assert.equal((await revoke(harness)).status, 200)
  assert.equal((await leak(harness)).status, 200)
  assert.equal((await report(harness)).status, 202)
})

test('a statement is cancelled through a socket, a port and TLS', async () => {
  const { key, cert } = makeCertificate().files
  const { uid, gid } = statSync(cluster.dataDirectory)
  for (const [from, name] of [
    [key, 'server.key'],
    [cert, 'server.crt'],
  ] as const) {
    const to = join(cluster.dataDirectory, name)
    copyFileSync(from, to)
    chmodSync(to, 0o600)
    chownSync(to, uid, gid)
  }
  await query('alter system set ssl = on')
  await query('select pg_reload_conf()')
  await until(async () => (await query('show ssl'))[0].ssl === 'on')
  const byPort = { ...cluster.connection, host: '127.0.0.1' }
  for (const connection of [cluster.connection, byPort, { ...byPort, ssl: { rejectUnauthorized: false } }]) {
    const client = await connect(connection, 'test')
    const sleeping = assert.rejects(client.query('select pg_sleep(600)'), { code: '57014' })
    // Postgres ignores a request that comes before the statement.
    const runs = `select from pg_stat_activity where query = 'select pg_sleep(600)' and state = 'active'`
    await until(async () => (await query(runs)).length === 1)
    await cancelRunning(client, patientBudgets.watchdogMs)
    await sleeping
    await client.end()
  }
})
