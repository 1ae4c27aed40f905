import assert from 'node:assert/strict'
import { test } from 'node:test'
import { standbyOf } from '../../../../test/absent-standby.ts'
import { startHarness } from '../../../../test/harness.ts'
import { fingerprintA, newScope } from '../../../../test/idempotency-calls.ts'
import { startScratchCluster } from '../../../../test/scratch.ts'
import { startTcpProxy } from '../../../../test/tcp-proxy.ts'
import { until } from '../../../../test/until.ts'
import { makeVendor } from '../../../../test/vendor.ts'
import { serviceBudgets } from '../../budgets.ts'
import { migrate } from '../migrate/migrate.ts'

/** What a call has sent reaches Postgres only after its CancelRequest, which Postgres ignores then. */

const cluster = await startScratchCluster()
await migrate(cluster.connection)
const drop = () => cluster.remove()
const harness = await startHarness({}, { connection: cluster.connection, drop })
const { query } = harness
const proxy = await startTcpProxy(cluster.connection)
const behind = { connection: proxy.connection, drop: () => proxy.close() }
const impatient = await startHarness({ databasePool: 2 }, behind, serviceBudgets)
const standby = standbyOf(harness)
const vendor = await makeVendor(harness)
const token = vendor.live

const createTenant = (name: string) =>
  impatient.ask('POST', '/v1/tenants', { token, body: { external_id: name, name: 'Acme' } })
const claim = (scope: string) =>
  impatient.ask('POST', '/v1/idempotency/claim', {
    token,
    body: { scope_hash: scope, env: 'live', fingerprint: fingerprintA },
  })

/** The processes of Postgres that serve pool and lanes. */
const processes = async (): Promise<number[]> => {
  const served = `select pid from pg_stat_activity
    where application_name = 'keyrail pool' or application_name like 'keyrail lane%'`
  return (await query(served)).map(({ pid }) => pid)
}

const cases = [
  { what: 'COMMIT of a transaction', sent: 'db.commit', call: createTenant },
  { what: 'statement of a lane', sent: 'idempotency.claim', call: claim },
]
for (const { what, sent, call } of cases)
  test(`a ${what} that comes after its CancelRequest is cancelled all the same`, async t => {
    // The connection is open, and its statements are prepared.
    await until(async () => (await call(newScope())).status < 300)
    await standby.set('absent')
    t.after(() => standby.set(''))
    const ended = proxy.ended()
    proxy.holdAt(sent)
    assert.equal((await call(newScope())).status, 503)
    // Postgres has answered a CancelRequest by closing its connection.
    await until(() => proxy.ended() > ended)
    assert.equal(proxy.held(), 1)
    const open = await processes()
    proxy.flow()
    // Without a CancelRequest the process would wait for the standby for ever.
    await until(async () => {
      const left = await processes()
      return open.some(pid => !left.includes(pid))
    }, 'the process of what was given up has ended')
    await until(async () => (await standby.waiting()).length === 0)
  })

test('what was given up keeps no place, however long its statement is on its way', async t => {
  await standby.set('absent')
  t.after(() => standby.set(''))
  proxy.holdAt('db.commit')
  t.after(() => proxy.flow())
  for (const held of [1, 2, 3, 4]) {
    await until(async () => (await createTenant(newScope())).status === 503 && proxy.held() === held)
    await until(() => impatient.deps.pool.depth().total < 2)
  }
  proxy.flow()
  await until(async () => (await standby.waiting()).length === 0)
})
