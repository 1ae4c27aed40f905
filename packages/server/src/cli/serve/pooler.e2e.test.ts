import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { createKeyring } from '../../../../sdk/src/keyring/keyring.ts'
import { makeDatabase, testCluster } from '../../../test/database.ts'
import { ask, Installation } from '../../../test/installation.ts'
import { startPgbouncer } from '../../../test/pgbouncer.ts'
import { patientBudgets } from '../../../test/stores.ts'
import { until } from '../../../test/until.ts'
import { makeScene } from '../../../test/vendor.ts'
import { systemClock } from '../../platform/clock.ts'
import { connect, sql } from '../../platform/db/connection.ts'
import { openLanes } from '../../platform/db/lanes/lanes.ts'
import { type Hints, openHints } from '../../platform/db/listen/hints.ts'
import { uncounted } from '../../platform/observe/metrics.ts'

const token = 'z'.repeat(32)

/** Ends in the opposite order, whatever fails. */
const open: (() => Promise<unknown>)[] = []
after(async () => {
  for (const close of open.toReversed()) await close()
})

async function startPooled(empty: boolean) {
  const database = await makeDatabase(testCluster(), empty)
  open.push(() => database.drop())
  const pooler = await startPgbouncer(database.connection, 'session')
  open.push(() => pooler.stop())
  return pooler
}

test('through pgbouncer in session mode it migrates, serves, and a key lives and dies', async () => {
  const pooler = await startPooled(true)
  const installation = new Installation({ DATABASE_URL: pooler.url, SERVICE_DASHBOARD: 'off' })
  open.push(() => installation.remove())
  assert.equal((await installation.start(['migrate']).ended).code, 0)
  const env = { SERVICE_BOOTSTRAP_TOKEN: token }
  const [one, two] = [await installation.serve(env), await installation.serve(env)]
  const send = async (
    method: string,
    path: string,
    { token, body }: { token?: string; body?: unknown } = {},
  ) => {
    const answer = await ask(`${one.url}${path}`, { method, body, ...(token !== undefined && { token }) })
    assert.ok(answer)
    return answer
  }
  const vendor = await makeScene(send, token)
  const key = await send('POST', '/v1/keys', {
    token: vendor.live,
    body: { project_id: vendor.projectId, tenant_id: vendor.tenantId, env: 'live' },
  })
  // It follows one process and the other revokes: what it hears comes through the database.
  const keyring = createKeyring({ url: two.url, secretKey: vendor.live, project: vendor.projectId })
  open.push(() => keyring.close())
  await keyring.ready()
  assert.equal(keyring.verify(key.body.key).code, 'valid')
  const revoked = await send('POST', `/v1/keys/${key.body.id}/revoke?wait=true`, { token: vendor.live })
  const { acknowledged, nodes } = revoked.body.propagation
  assert.deepEqual([acknowledged, nodes], [true, 1])
  assert.equal(keyring.verify(key.body.key).code, 'revoked_key')
  await keyring.close()
  for (const { child, ended } of [one, two]) {
    child.kill('SIGTERM')
    assert.equal((await ended).code, 0)
  }
})

test('a process hears through pgbouncer in session mode what another announces', async () => {
  const { connection } = await startPooled(false)
  const join = (): Hints => {
    const lanes = openLanes(connection, patientBudgets, uncounted)
    const hints = openHints({ connection, lanes, clock: systemClock, metrics: uncounted })
    open.push(() => Promise.all([lanes.close(), hints.close()]))
    return hints
  }
  const [here, there] = [join(), join()]
  let heard = 0
  const silence = there.listen('a topic', () => heard++)
  // What is announced before the other one listens is lost.
  await until(() => {
    here.announce('a topic')
    return heard > 0
  })
  silence()
})

test('a server connection that had another client before takes statements of the same name', async () => {
  const { connection } = await startPooled(false)
  const statement = sql('test.add', 'select $1::int + $2::int as sum')
  for (const round of [1, 2, 3]) {
    const client = await connect(connection, 'test')
    const { rows } = await client.query({ ...statement, values: [round, 1] })
    assert.equal(rows[0].sum, round + 1)
    await client.end()
  }
})
