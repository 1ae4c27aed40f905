import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after } from 'node:test'
import pg from 'pg'
import type { Connection } from '../src/platform/db/connection.ts'
import { appliedMigrations } from '../src/platform/db/migrate/migrate.ts'
import { migrationsTable } from '../src/platform/db/migrate/table.ts'
import { makeDatabase, testCluster } from './database.ts'
import { until } from './until.ts'

/** A database as a test compares it: its migrations, and every row of every table as text. */
export type Contents = Record<string, string[]>

/** A restore raises the versions by the clock. */
export const evenVersions = 'update policy_heads set version = 1, floor = 1'
/** Makes equal what a restore changes after loading: it also ends sessions, devices, invitations and mailed links. Without a level no head catches up. */
export const comparable = `delete from store_levels; ${evenVersions};
  update sessions set ended_at = null; update mail_tokens set used_at = null;
  update workspace_invites set revoked_at = null; update user_passwords set devices = '{}';
  update disownings set token_digest = null; update workspaces set billing_token_digest = null`

/** @param alter a statement that is applied before reading, and rolled back. */
export async function contentsOf(connection: Connection, alter = 'select 1'): Promise<Contents> {
  return await withClient(connection, async client => {
    const contents: Contents = { [migrationsTable]: await appliedMigrations(client) }
    await client.query(`begin; set local timezone = 'UTC'; ${alter}`)
    const { rows: tables } = await client.query(
      `select relname as name from pg_class
       where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and relname <> all($1) order by relname`,
      // A restored database has its own identity.
      [[migrationsTable, 'store_levels', 'store_timelines']],
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

/**
 * Waits until the first use of every owner's secret key is recorded. The service records it after it has answered, so it
 * could otherwise fall between two readings.
 */
export async function untilUsesAreRecorded(connection: Connection): Promise<void> {
  const unused = `select from secret_keys where last_used_at is null and created_by_type = 'bootstrap'`
  await until(async () => (await query(connection, unused)).length === 0)
}

/** The tables' identities: a table that was replaced differs, even with the same name and contents. */
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

/** Waits until no backup and no restore is connected. */
export async function untilGone(connection: Connection): Promise<void> {
  const copying = `select from pg_stat_activity where datname = current_database()
    and application_name in ('keyrail backup', 'keyrail restore')`
  await until(async () => (await query(connection, copying)).length === 0)
}

/** A database that is dropped when the test file ends; `empty`: without migrations. */
export async function freshDatabase(empty: boolean): Promise<Connection> {
  const database = await makeDatabase(testCluster(), empty)
  after(() => database.drop())
  return database.connection
}

const folder = mkdtempSync(join(tmpdir(), 'keyrail-dump-'))
after(() => rmSync(folder, { recursive: true, force: true }))

/** An unused path in a folder that is removed when the test file ends. */
export const freshPath = (): string => join(folder, randomUUID())
