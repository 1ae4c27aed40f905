import { readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type pg from 'pg'
import { type Connection, connectAtStart } from './connection.ts'
import { installJobQueue, installJobQueueWithin, jobQueueRevision, jobSchemaRevision } from './job-queue.ts'
import { ensureRoles } from './roles.ts'

/** Takes longer to load than Postgres to start, and only a database that lacks something needs it. */
const loadRunner = () => import('node-pg-migrate')

/** A folder of migrations and their names in order, without `.sql`. */
export interface MigrationSet {
  readonly directory: string
  readonly names: readonly string[]
}

/** The table in which a database keeps the names of the migrations that it has. */
export const migrationsTable = 'keyrail_migrations'

export const readMigrations = (directory: string): MigrationSet => ({
  directory,
  names: readdirSync(directory)
    .filter(name => name.endsWith('.sql'))
    .map(name => name.slice(0, -'.sql'.length))
    .sort(),
})

export const ownMigrations = readMigrations(fileURLToPath(new URL('../../../migrations', import.meta.url)))

/** Names of all migrations in their order; the last is the schema this code was written for. */
export const migrations = ownMigrations.names

/**
 * Brings a database to the newest schema: roles first, then the job queue, then every migration it lacks, one at a time
 * under an advisory lock, so that several processes may start at once.
 * @param upTo the last migration to apply, where an older schema is wanted.
 * @returns the names of the migrations that were applied.
 */
export async function migrate(
  connection: Connection,
  upTo?: string,
  set: MigrationSet = ownMigrations,
): Promise<string[]> {
  const client = await connectAtStart(connection, 'migrate')
  try {
    await prepareServer(client)
    if (upTo === undefined && (await isUpToDate(client, set))) return []
    await holdMigrations(client)
    await installJobQueue(client)
    return await apply(client, set, await missing(client, set, upTo), {
      singleTransaction: false,
      advisoryLockMode: 'wait',
    })
  } finally {
    await client.end()
  }
}

/** What migrations need of the server, outside of any transaction: a Postgres new enough, and the roles. */
export async function prepareServer(client: pg.ClientBase): Promise<void> {
  const { rows } = await client.query(`select current_setting('server_version_num')::int as number`)
  if (rows[0].number < 150_000) throw new Error('Postgres 15 or later is needed')
  await ensureRoles(client)
}

async function isUpToDate(client: pg.ClientBase, { names }: MigrationSet): Promise<boolean> {
  const isWhole = (await appliedMigrations(client)).join() === names.join()
  return isWhole && (await jobQueueRevision(client)) >= jobSchemaRevision
}

/** Makes other processes wait with their migrations until this connection ends. */
async function holdMigrations(client: pg.ClientBase): Promise<void> {
  const { PG_MIGRATE_LOCK_ID } = await loadRunner()
  await client.query(`select pg_advisory_lock(${PG_MIGRATE_LOCK_ID})`)
}

/** Makes other processes wait with their migrations until this transaction ends. */
export async function lockMigrations(client: pg.ClientBase): Promise<void> {
  const { PG_MIGRATE_LOCK_ID } = await loadRunner()
  await client.query(`select pg_advisory_xact_lock(${PG_MIGRATE_LOCK_ID})`)
}

/**
 * As `migrate`, inside a transaction that the caller has opened, with `prepareServer` before it and
 * `lockMigrations` in it; the caller commits.
 */
export async function migrateWithin(
  client: pg.ClientBase,
  upTo?: string,
  set: MigrationSet = ownMigrations,
): Promise<string[]> {
  await installJobQueueWithin(client)
  const inside = {
    query: (text: string, values?: unknown[]) =>
      transactionWords.has(text) ? Promise.resolve({ rows: [] }) : client.query(text, values),
  }
  return await apply(inside, set, await missing(client, set, upTo), {
    singleTransaction: true,
    noLock: true,
  })
}

/** All that the runner says of transactions when it makes one of all migrations. */
const transactionWords = new Set(['BEGIN', 'COMMIT', 'ROLLBACK'])

/** How many of the migrations up to `upTo` a database lacks. */
async function missing(client: pg.ClientBase, { names }: MigrationSet, upTo: string | undefined) {
  if (upTo === undefined) return Number.POSITIVE_INFINITY
  const wanted = names.indexOf(upTo) + 1
  if (wanted === 0) throw new Error(`there is no migration ${upTo}`)
  return Math.max(wanted - (await appliedMigrations(client)).length, 0)
}

async function apply(
  client: { query: unknown },
  { directory }: MigrationSet,
  count: number,
  how: { singleTransaction: boolean; advisoryLockMode?: 'wait'; noLock?: boolean },
): Promise<string[]> {
  const { runner } = await loadRunner()
  const applied = await runner({
    dbClient: client as never,
    dir: directory,
    migrationsTable,
    direction: 'up',
    count,
    log: () => {},
    logger: { debug() {}, info() {}, warn() {}, error() {} },
    ...how,
  })
  return applied.map(migration => migration.name)
}

/** Migrations that a database has, in order; none when it was never migrated. */
export async function appliedMigrations(client: pg.ClientBase): Promise<string[]> {
  const { rows: found } = await client.query(`select to_regclass('${migrationsTable}') is not null as there`)
  if (!found[0].there) return []
  const { rows } = await client.query(`select name from ${migrationsTable} order by id`)
  return rows.map(row => row.name)
}
