import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { makeDatabase, testCluster } from '../../../../test/database.ts'
import type { Connection } from '../connection.ts'
import { appliedMigrations, migrationsTable } from '../migrate.ts'
import { versionsRaisedBy } from '../timeline.ts'

/** What a test sees of a database: its migrations, and every row of every table as text. */
export type Contents = Record<string, string[]>

/** What a restore does to the policy heads beside loading them. */
export const asRestored = `update policy_heads
  set version = version + ${versionsRaisedBy}, floor = version + ${versionsRaisedBy}`

/** @param alter what to look through: a statement that is undone afterwards. */
export async function contentsOf(connection: Connection, alter = 'select 1'): Promise<Contents> {
  return await withClient(connection, async client => {
    const contents: Contents = { [migrationsTable]: await appliedMigrations(client) }
    await client.query(`begin; set local timezone = 'UTC'; ${alter}`)
    const { rows: tables } = await client.query(
      `select relname as name from pg_class
       where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and relname <> all($1) order by relname`,
      // Which database it is, a restored one says of itself.
      [[migrationsTable, 'store_timelines']],
    )
    for (const { name } of tables) {
      const { rows } = await client.query(
        `select t::text as row from public."${name}" t order by t::text collate "C"`,
      )
      contents[name] = rows.map(({ row }) => row)
    }
    await client.query('rollback')
    return contents
  })
}

/** The tables themselves: other ones of the same name and contents show. */
export const tablesOf = (connection: Connection): Promise<unknown[]> =>
  query(
    connection,
    `select oid::text, relname, relfilenode::text from pg_class
     where relnamespace = 'public'::regnamespace order by relname`,
  )

export const query = (connection: Connection, text: string, values: unknown[] = []): Promise<unknown[]> =>
  withClient(connection, async client => (await client.query(text, values)).rows)

async function withClient<T>(connection: Connection, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client(connection)
  client.on('error', () => {})
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}

/** Waits until no backup and no restore is connected any more. */
export async function untilGone(connection: Connection): Promise<void> {
  const copying = `select from pg_stat_activity where datname = current_database()
    and application_name in ('keyrail backup', 'keyrail restore')`
  while ((await query(connection, copying)).length > 0) await sleep(20)
}

/** A database that goes when the test file ends; `empty`: never migrated. */
export async function freshDatabase(empty: boolean): Promise<Connection> {
  const database = await makeDatabase(testCluster(), empty)
  after(() => database.drop())
  return database.connection
}

const folder = mkdtempSync(join(tmpdir(), 'keyrail-dump-'))
after(() => rmSync(folder, { recursive: true, force: true }))

/** A path that nothing has yet, in a folder that goes when the test file ends. */
export const freshPath = (): string => join(folder, randomUUID())
