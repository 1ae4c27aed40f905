import { randomUUID } from 'node:crypto'
import pg from 'pg'
import type { Connection } from '../src/platform/db/connection.ts'
import { migrate } from '../src/platform/db/migrate/migrate.ts'

/** The cluster that `npm test` starts, passed to every test file. */
export const clusterVariable = 'KEYRAIL_TEST_CLUSTER'
const templateDatabase = 'keyrail_template'

export function testCluster(): Connection {
  const given = process.env[clusterVariable]
  if (given === undefined) throw new Error(`${clusterVariable} is not set; run the tests with npm test`)
  return JSON.parse(given)
}

/** Makes the migrated database that every test file copies. */
export async function makeTemplate(cluster: Connection): Promise<void> {
  await onCluster(cluster, client => client.query(`create database ${templateDatabase}`))
  await migrate({ ...cluster, database: templateDatabase })
}

export interface TestDatabase {
  connection: Connection
  drop(): Promise<void>
}

/** A new copy of the template. `empty` makes a database without migrations. */
export async function makeDatabase(cluster: Connection, empty = false): Promise<TestDatabase> {
  const name = `test_${randomUUID().replaceAll('-', '')}`
  const source = empty ? '' : `template ${templateDatabase}`
  await onCluster(cluster, client => client.query(`create database ${name} ${source}`))
  return {
    connection: { ...cluster, database: name },
    drop: () =>
      onCluster(cluster, async client => void (await client.query(`drop database ${name} with (force)`))),
  }
}

async function onCluster(cluster: Connection, work: (client: pg.Client) => Promise<unknown>): Promise<void> {
  const client = new pg.Client({ ...cluster, database: 'postgres' })
  await client.connect()
  try {
    await work(client)
  } finally {
    await client.end()
  }
}
