import { readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { runner } from 'node-pg-migrate'
import type pg from 'pg'
import { type Connection, connect } from './connection.ts'
import { ensureRoles } from './roles.ts'

const directory = fileURLToPath(new URL('../../../migrations', import.meta.url))
const table = 'keyrail_migrations'

/** Names of all migrations in their order, without `.sql`; the last is the schema this code was written for. */
export const migrations = readdirSync(directory)
  .filter(name => name.endsWith('.sql'))
  .map(name => name.slice(0, -'.sql'.length))
  .sort()

/**
 * Brings a database to the newest schema: roles first, then every migration it lacks, one at a time under
 * an advisory lock, so that several processes may start at once.
 * @returns the names of the migrations that were applied.
 */
export async function migrate(connection: Connection): Promise<string[]> {
  const client = await connect(connection, 'migrate', false)
  try {
    await refuseOldPostgres(client)
    await ensureRoles(client)
    const applied = await runner({
      dbClient: client as never,
      dir: directory,
      migrationsTable: table,
      direction: 'up',
      count: Number.POSITIVE_INFINITY,
      singleTransaction: false,
      advisoryLockMode: 'wait',
      log: () => {},
      logger: { debug() {}, info() {}, warn() {}, error() {} },
    })
    return applied.map(migration => migration.name)
  } finally {
    await client.end()
  }
}

async function refuseOldPostgres(client: pg.ClientBase): Promise<void> {
  const { rows } = await client.query(`select current_setting('server_version_num')::int as number`)
  if (rows[0].number < 150_000) throw new Error('Postgres 15 or later is needed')
}

/** Migrations that a database has, in order; none when it was never migrated. */
export async function appliedMigrations(client: pg.ClientBase): Promise<string[]> {
  const { rows: found } = await client.query(`select to_regclass('${table}') is not null as there`)
  if (!found[0].there) return []
  const { rows } = await client.query(`select name from ${table} order by id`)
  return rows.map(row => row.name)
}
