import { after } from 'node:test'
import pg from 'pg'
import { makeDatabase, testCluster } from '../../test/database.ts'
import { systemClock } from '../platform/clock.ts'
import { openCounterRows } from './counter-rows.ts'
import { openPostgresCounters } from './postgres.ts'
import { testStore } from './store-suite.ts'

const database = await makeDatabase(testCluster())
const { connection } = database
const admin = new pg.Client(connection)
await admin.connect()
// A clock of its own for the store, which a row holds: to replace the function would plan everything anew each time.
await admin.query('create table store_time (now timestamptz not null)')
await admin.query(`insert into store_time values (now())`)
await admin.query(
  `create or replace function service_now() returns timestamptz language sql stable as 'select now from store_time'`,
)
const observer = { batchSent() {} }
const rows = () => openCounterRows(connection, 1_000_000, systemClock, { warn() {} })
const store = openPostgresCounters(connection, observer, rows())
const other = openPostgresCounters(connection, observer, rows())
after(async () => {
  await Promise.all([store.close(), other.close()])
  await admin.end()
  await database.drop()
})

testStore('Postgres', async () => ({
  store,
  other,
  async setTime(now) {
    await admin.query('update store_time set now = to_timestamp($1::float8 / 1000)', [now])
  },
}))
