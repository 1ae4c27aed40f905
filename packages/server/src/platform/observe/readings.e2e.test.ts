import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeDatabase, testCluster } from '../../../test/database.ts'
import { figuresFrom } from '../../../test/figures.ts'
import { startPair } from '../../../test/standby.ts'
import type { Connection } from '../db/connection.ts'
import { createLog } from './log.ts'
import { createMetrics } from './prometheus.ts'
import { type Reading, recoveryReading, watchStore } from './readings.ts'

const logged: string[] = []
const log = createLog('info', { write: line => void logged.push(line) })

/** Metrics of a database, read as a scrape does. */
function watch(connection: Connection, readings: readonly Reading[]) {
  const metrics = createMetrics({ version: '0', node: '0' })
  watchStore({ connection, readings, metrics, log })
  return figuresFrom(metrics)
}

test('a database that is away is down, its figures are missing, and all return with it', async t => {
  const { connection, drop } = await makeDatabase(testCluster())
  t.after(() => drop())
  const address = { ...connection }
  const read = watch(address, [recoveryReading])
  const names = ['keyrail_database_up', 'keyrail_database_in_recovery']
  assert.deepEqual(await read(...names), [1, 0])
  Object.assign(address, { host: '/nonexistent' })
  assert.deepEqual(await read(...names), [0, undefined])
  Object.assign(address, { host: connection.host })
  assert.deepEqual(await read(...names), [1, 0])
})

test('scrapes at the same time share one connection, and none is kept', async t => {
  const { connection, drop } = await makeDatabase(testCluster())
  t.after(() => drop())
  let reads = 0
  const sessions: Reading = {
    figures: [{ name: 'keyrail_sessions', help: 'For the test.' }],
    async read(client) {
      reads += 1
      const { rows } = await client.query(
        `select count(*)::int as value from pg_stat_activity
         where datname = current_database() and application_name = 'keyrail metrics'`,
      )
      return { keyrail_sessions: rows }
    },
  }
  const read = watch(connection, [sessions])
  const seen = await Promise.all([1, 2, 3, 4].map(() => read('keyrail_sessions')))
  assert.deepEqual(seen, [[1], [1], [1], [1]])
  assert.equal(reads, 1)
})

test('a figure that cannot be read is missing and logged, and costs no other', async t => {
  const { connection, drop } = await makeDatabase(testCluster())
  t.after(() => drop())
  const broken: Reading = {
    figures: [{ name: 'keyrail_broken', help: 'For the test.' }],
    read: async client => ({ keyrail_broken: (await client.query('select value from nowhere')).rows }),
  }
  const read = watch(connection, [broken, recoveryReading])
  assert.deepEqual(await read('keyrail_broken', 'keyrail_database_in_recovery'), [undefined, 0])
  const line = logged.map(text => JSON.parse(text)).find(({ figures }) => figures !== undefined)
  assert.deepEqual([line.level, line.figures, line.err.code], ['warn', ['keyrail_broken'], '42P01'])
})

test('a standby is up and in recovery', async t => {
  const pair = await startPair()
  t.after(() => pair.remove())
  const read = watch(pair.connection, [recoveryReading])
  const names = ['keyrail_database_up', 'keyrail_database_in_recovery']
  assert.deepEqual(await read(...names), [1, 0])
  pair.leadTo('standby')
  assert.deepEqual(await read(...names), [1, 1])
})
