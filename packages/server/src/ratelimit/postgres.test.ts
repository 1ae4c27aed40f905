import { after } from 'node:test'
import pg from 'pg'
import { testStore } from '../../test/counter-store-suite.ts'
import { makeDatabase, testCluster } from '../../test/database.ts'
import { openTestLanes } from '../../test/stores.ts'
import { systemClock } from '../platform/clock.ts'
import { Errands } from '../platform/db/pool/errands.ts'
import { openCounterRows } from './counter-rows.ts'
import { openPostgresCounters } from './postgres.ts'

const database = await makeDatabase(testCluster())
const { connection } = database
const admin = new pg.Client(connection)
await admin.connect()
// The store's clock reads a row of this table. Replacing the function each time would invalidate every plan.
await admin.query('create table store_time (now timestamptz not null)')
await admin.query(`insert into store_time values (now())`)
await admin.query(
  `create or replace function service_now() returns timestamptz language sql stable as 'select now from store_time'`,
)
const processes = [openTestLanes(connection), openTestLanes(connection)] as const
const rows = () => openCounterRows(new Errands(connection), 1_000_000, systemClock, { warn() {}, info() {} })
const store = openPostgresCounters(processes[0], rows())
const other = openPostgresCounters(processes[1], rows())
after(async () => {
  await Promise.all(processes.map(lanes => lanes.close()))
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
