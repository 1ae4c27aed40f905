import assert from 'node:assert/strict'
import { test } from 'node:test'
import pg from 'pg'
import { makeDatabase, testCluster } from '../../../test/database.ts'
import { startHarness } from '../../../test/harness.ts'
import { patientBudgets } from '../../../test/stores.ts'
import { issueKey, makeVendor } from '../../../test/vendor.ts'
import { uncounted } from '../observe/metrics.ts'
import { Refusal } from '../refusal.ts'
import { sql } from './connection.ts'
import { unbound } from './db.ts'
import { createIdleConnections } from './pool/idle.ts'
import { openPool } from './pool/pool.ts'

const database = await makeDatabase(testCluster())
const owner = new pg.Client(database.connection)
await owner.connect()
for (const setting of [
  `default_transaction_isolation = 'serializable'`,
  `default_transaction_deferrable = on`,
  `row_security = off`,
  `standard_conforming_strings = off`,
  `DateStyle = 'German, DMY'`,
  `IntervalStyle = 'sql_standard'`,
  `TimeZone = 'Asia/Kathmandu'`,
])
  await owner.query(`alter database ${database.connection.database} set ${setting}`)
await owner.end()
const harness = await startHarness({}, database)
const { ask, query, connection } = harness

test('what a database sets for its sessions changes no answer of the service', async () => {
  const vendor = await makeVendor(harness)
  const { live: token } = vendor
  const keys = await Promise.all(Array.from({ length: 40 }, () => issueKey(harness, vendor)))
  const answers = await Promise.all(
    keys.flatMap(({ id }) => [
      ask('POST', `/v1/keys/${id}/revoke`, { token, body: {} }),
      ask('PATCH', `/v1/tenants/${vendor.tenantId}`, { token, body: { name: `after ${id}` } }),
    ]),
  )
  assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]))
  const chain = await ask('GET', '/v1/audit_logs/chain', { token })
  assert.deepEqual([chain.status, chain.body.valid], [200, true])
})

test('a transaction that Postgres undoes for another runs again once; other errors are final', async () => {
  await query(`create function undo(code text) returns int language plpgsql as
    $$ begin raise exception using errcode = code, message = 'undone'; end $$`)
  const undo = sql('test.undo', 'select undo($1)')
  const pool = openPool({
    connection,
    size: 1,
    budgets: patientBudgets,
    hints: { announce() {} },
    lanes: { idle: createIdleConnections() },
    observer: uncounted,
  })
  const timesOf = async (code: string, undone: number) => {
    let times = 0
    const run = pool.bind(unbound).inWorkspace(crypto.randomUUID(), async tx => {
      times += 1
      if (times <= undone) await tx.query(undo, [code])
    })
    const error = await run.then(
      () => null,
      failure => failure,
    )
    return [times, error instanceof Refusal ? error.code : (error?.code ?? 'done')]
  }
  try {
    for (const code of ['40001', '40P01']) {
      assert.deepEqual(await timesOf(code, 1), [2, 'done'], code)
      assert.deepEqual(await timesOf(code, 2), [2, 'unavailable'], code)
    }
    for (const code of ['40002', '23514', '55P03', '42501', '28000', '53400'])
      assert.equal((await timesOf(code, 1))[0], 1, code)
    for (const code of ['42501', '28000', '28P01', '53400', '55000'])
      assert.equal((await timesOf(code, 2))[1], 'unavailable', code)
  } finally {
    await pool.close()
  }
})
