import assert from 'node:assert/strict'
import { test } from 'node:test'
import pg from 'pg'
import { startHarness } from '../../../../test/harness.ts'
import { openTestPool } from '../../../../test/stores.ts'
import { makeVendor } from '../../../../test/vendor.ts'
import { Deadline } from '../../concurrency/deadline.ts'
import { Refusal } from '../../refusal.ts'
import { sql } from '../connection.ts'
import { unbound } from '../db.ts'
import type { ReadTx } from '../transaction.ts'
import { readAtOnce } from './read-at-once.ts'

const harness = await startHarness()
const { workspaceId } = await makeVendor(harness)
const client = new pg.Client(harness.connection)
client.on('error', () => {})
await client.connect()
test.after(() => client.end())

const limits = { statementMs: 20_000, lockMs: 10_000 }
const read = <T>(work: (tx: ReadTx) => Promise<T>) => readAtOnce(client, workspaceId, limits, work, null)

const settings = `current_user as who, current_setting('app.workspace_id', true) as scope,
  current_setting('transaction_read_only') as reads, current_setting('statement_timeout') as ends`
const ask = sql('test.ask', `select ${settings}`)
const countTenants = sql('test.count', 'select count(*)::int as count from tenants')
const divide = sql('test.divide', 'select 1 / $1::int as part')

test('it reads as the role that owns nothing, in one workspace, and leaves neither behind', async () => {
  const before = (await client.query(`select ${settings}`)).rows
  const [[row], [tenants]] = await read(tx => Promise.all([tx.query(ask), tx.query(countTenants)]))
  assert.deepEqual(row, { who: 'keyrail_app', scope: workspaceId, reads: 'on', ends: '20s' })
  assert.deepEqual(tenants, { count: 1 })
  const after = (await client.query(`select ${settings}`)).rows
  assert.deepEqual([after[0].scope, { ...after[0], scope: null }], ['', { ...before[0], scope: null }])
})

test('it sees nothing of another workspace', async () => {
  const other = '01930c3e-8f5a-7c31-9b0e-2f1a6f0c9d11'
  const rows = await readAtOnce(client, other, limits, tx => tx.query(countTenants), null)
  assert.deepEqual(rows, [{ count: 0 }])
})

test('all its statements travel together, with the end of the transaction', async t => {
  const sent = t.mock.method(client, 'query')
  await read(async tx => {
    tx.send(divide, [1])
    await Promise.all([tx.query(divide, [1]), tx.query(ask)])
  })
  assert.equal(sent.mock.callCount(), 1)
  sent.mock.restore()
  const [{ pid }] = (await client.query('select pg_backend_pid() as pid')).rows
  const [{ state }] = await harness.query('select state from pg_stat_activity where pid = $1', [pid])
  assert.equal(state, 'idle')
})

test('Postgres refuses a write', async () => {
  const write = sql('test.write', 'update tenants set name = $2 where workspace_id = $1')
  await assert.rejects(
    read(async tx => tx.send(write, [workspaceId, 'written'])),
    { code: '25006' },
  )
  assert.deepEqual(await harness.query(`select 1 from tenants where name = 'written'`), [])
})

test('a statement that fails fails the read, and the connection can be used again', async () => {
  const failing = read(tx => Promise.all([tx.query(divide, [1]), tx.query(divide, [0]), tx.query(ask)]))
  await assert.rejects(failing, { code: '22012' })
  await assert.rejects(
    read(async tx => tx.send(divide, [0])),
    { code: '22012' },
  )
  assert.deepEqual(await read(tx => tx.query(divide, [1])), [{ part: 1 }])
})

test('a work that throws on the first rows ends after its flight has landed', async () => {
  const refused = read(async tx => {
    const first = tx.query(ask)
    tx.send(sql('test.pause', 'select pg_sleep(0.05)'))
    await first
    throw new Refusal('not_found')
  })
  await assert.rejects(refused, error => error instanceof Refusal && error.code === 'not_found')
  assert.deepEqual(await read(tx => tx.query(divide, [1])), [{ part: 1 }])
})

test('a statement that comes after the first answer is a fault of the work', async () => {
  const late = /every statement before its first answer/
  await assert.rejects(
    read(async tx => {
      await tx.query(ask)
      await tx.query(ask)
    }),
    late,
  )
  await assert.rejects(
    read(async tx => {
      await tx.query(ask)
      tx.send(ask)
    }),
    late,
  )
})

test('a read of a call past its deadline takes no connection', async () => {
  const pool = openTestPool(harness.connection, 1)
  const late = pool.bind({ ...unbound, deadline: new Deadline(-1) })
  await assert.rejects(
    late.readAtOnce(workspaceId, tx => tx.query(ask)),
    error => error instanceof Refusal && error.code === 'unavailable',
  )
  assert.equal(pool.depth().total, 0)
  await pool.close()
})
