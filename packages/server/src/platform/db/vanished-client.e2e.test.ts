import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { freePort } from '../../../test/free-port.ts'
import { startScratchCluster } from '../../../test/scratch.ts'
import { openTestPool } from '../../../test/stores.ts'
import { sql } from './connection.ts'
import { unbound } from './db.ts'
import { connectPrimary } from './failover/timeline.ts'
import { migrate } from './migrate/migrate.ts'

const port = await freePort()
const cluster = await startScratchCluster({ settings: { listen_addresses: '127.0.0.1', port } })
await migrate(cluster.connection)
after(() => cluster.remove())

const expected = ['30', '10', '3', '60000']
const names = ['idle', 'interval', 'count'].map(name => `tcp_keepalives_${name}`)
const ask = `select array[${[...names, 'tcp_user_timeout'].map(name => `(select setting from pg_settings where name = '${name}')`)}] as set`

test('Postgres notices within a minute that a machine has vanished, on every connection', async () => {
  const connection = { ...cluster.connection, host: '127.0.0.1' }
  const client = await connectPrimary(connection, 'test')
  assert.deepEqual((await client.query(ask)).rows[0].set, expected)
  await client.end()
  const pool = openTestPool(connection, 1)
  const inPool = sql('test.keepalives', ask)
  const [row] = await pool
    .bind(unbound)
    .inWorkspace('01890000-0000-7000-8000-000000000001', tx => tx.query<{ set: string[] }>(inPool))
  assert.deepEqual(row?.set, expected)
  await pool.close()
})
