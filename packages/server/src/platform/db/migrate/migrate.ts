/**
 * Brings the schema to the version of the code. `file.ts` reads how a migration runs, `table.ts` names the table of
 * applied migrations, `lock-wait.ts` waits briefly for locks, `own-schema.ts` is the schema of the tables.
 * `declared-tables.ts` and `table-faults.ts` tell the doctor what differs.
 */

import { readdirSync } from 'node:fs'
import { basename } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { MigrationBuilder } from 'node-pg-migrate'
import type pg from 'pg'
import {
  installJobQueue,
  installJobQueueWithin,
  jobQueueRevision,
  jobSchemaRevision,
} from '../../jobs/job-queue.ts'
import { type Connection, connect, patientAtStart } from '../connection.ts'
import { ensureRoles } from '../roles/roles.ts'
import { foreignOwner, grantServiceRights, missingRights } from '../roles/service-rights.ts'
import { indexesOf, readMigration, withinTransaction } from './file.ts'
import { type LockPatience, migrationPatience, type OnWait, untilUnlocked } from './lock-wait.ts'
import { schemaElsewhere } from './own-schema.ts'
import { migrationsTable } from './table.ts'

/** The runner takes longer to load than Postgres takes to start, and only a database that lacks a migration needs it. */
const loadRunner = () => import('node-pg-migrate')

/** A folder of migrations and their names in order, without `.sql`. */
export interface MigrationSet {
  readonly directory: string
  readonly names: readonly string[]
}

export const readMigrations = (directory: string): MigrationSet => ({
  directory,
  names: readdirSync(directory)
    .filter(name => name.endsWith('.sql'))
    .map(name => name.slice(0, -'.sql'.length))
    .sort(),
})

export const ownMigrations = readMigrations(fileURLToPath(new URL('../../../../migrations', import.meta.url)))

/** The names of all migrations in order; the last one is the schema that this code needs. */
export const migrations = ownMigrations.names

export interface MigrateOptions {
  /** The last migration to apply, for an older schema. */
  readonly upTo?: string | undefined
  readonly set?: MigrationSet
  readonly patience?: LockPatience
  readonly onWait?: OnWait
}

/**
 * Migrates a database to the newest schema: roles first, then the job queue, then every missing migration, one
 * at a time under an advisory lock, so that several processes may start at once. A migration that does not get a
 * lock at once tries again later, so that no request waits behind it for long.
 * @returns the names of the applied migrations.
 * @throws {LocksHeld} if another session holds a lock for too long.
 */
export async function migrate(
  connection: Connection,
  { upTo, set = ownMigrations, patience = migrationPatience, onWait = () => {} }: MigrateOptions = {},
): Promise<string[]> {
  const client = await connect(patientAtStart(connection), 'migrate', false)
  try {
    await prepareServer(client)
    if (upTo === undefined && (await isUpToDate(client, set))) return []
    await refuseWithoutSchema(client)
    await holdMigrations(client, onWait)
    const before = new Set(await appliedMigrations(client))
    await untilUnlocked({ connection, client, patience, onWait }, async () => {
      const lockTimeout = `set lock_timeout = ${patience.lockMs}`
      await client.query(lockTimeout)
      await installJobQueue(client)
      await removeUnfinished(client, set)
      await apply(client, set, await missing(client, set, upTo), {
        singleTransaction: false,
        advisoryLockMode: 'wait',
        write: (pgm, name) => writeAlone(pgm, set, name, lockTimeout),
      })
      await grantServiceRights(client)
    })
    return (await appliedMigrations(client)).filter(name => !before.has(name))
  } finally {
    await client.end()
  }
}

/**
 * Prepares the server for migrations, outside any transaction: checks that Postgres is new enough, and makes the
 * roles.
 */
export async function prepareServer(client: pg.ClientBase): Promise<void> {
  const { rows } = await client.query(`select current_setting('server_version_num')::int as number`)
  if (rows[0].number < 150_000) throw new Error('Postgres 15 or later is needed')
  await client.query(`set default_transaction_isolation = 'read committed'`)
  await ensureRoles(client)
}

/**
 * @throws with the SQL for an operator to run if tables would come into another schema, or the user may not make tables: since
 * Postgres 15 only owners may.
 */
async function refuseWithoutSchema(client: pg.ClientBase): Promise<void> {
  const elsewhere = await schemaElsewhere(client)
  if (elsewhere !== null) {
    const { reason, todo } = elsewhere
    throw new Error(`The schema cannot be made or brought up to date: ${reason}. ${todo}\n`)
  }
  const owner = await foreignOwner(client)
  if (owner !== null) {
    throw new Error(
      `The schema is older than this release, and this login does not own it. Run keyrail migrate as ${owner}.`,
    )
  }
  const { rows } = await client.query(
    `select quote_ident(current_user) as "user", has_schema_privilege('public', 'create') as allowed`,
  )
  const [{ user, allowed }] = rows
  if (allowed) return
  throw new Error(
    'The database user may not make tables in the schema public. Have an operator run this once:\n\n' +
      `grant usage, create on schema public to ${user};\n`,
  )
}

async function isUpToDate(client: pg.ClientBase, { names }: MigrationSet): Promise<boolean> {
  const isWhole = (await appliedMigrations(client)).join() === names.join()
  const hasQueue = (await jobQueueRevision(client)) >= jobSchemaRevision
  return isWhole && hasQueue && (await missingRights(client)).length === 0
}

const askAgainMs = 250

/**
 * Takes an advisory lock by asking repeatedly. A statement that waited for the lock would keep a snapshot, and the holder's
 * `create index concurrently` would wait for the end of that snapshot.
 */
async function ask(client: pg.ClientBase, take: string, onWait: OnWait = () => {}): Promise<void> {
  const { PG_MIGRATE_LOCK_ID } = await loadRunner()
  for (let tries = 1; ; tries += 1) {
    const { rows } = await client.query(`select ${take}(${PG_MIGRATE_LOCK_ID}) as taken`)
    if (rows[0].taken) return
    if (tries === 1) onWait('Another process migrates this database: waiting until it is done.')
    await sleep(askAgainMs)
  }
}

/** Makes other processes wait with their migrations until this connection ends. */
const holdMigrations = (client: pg.ClientBase, onWait: OnWait) => ask(client, 'pg_try_advisory_lock', onWait)

/** Makes other processes wait with their migrations until this transaction ends. */
export const lockMigrations = (client: pg.ClientBase) => ask(client, 'pg_try_advisory_xact_lock')

/** Drops the index that an interrupted `create index concurrently` has left: every write maintains it, and no query uses it. */
async function removeUnfinished(client: pg.ClientBase, set: MigrationSet): Promise<void> {
  const applied = new Set(await appliedMigrations(client))
  const names = set.names
    .filter(name => !applied.has(name))
    .flatMap(name => indexesOf(readMigration(set.directory, name)))
  if (names.length === 0) return
  const { rows } = await client.query(
    `select i.indexrelid::regclass::text as name from pg_index i join pg_class c on c.oid = i.indexrelid
     where not i.indisvalid and c.relname = any($1) and c.relnamespace = 'public'::regnamespace`,
    [names],
  )
  for (const { name } of rows) await client.query(`drop index concurrently if exists ${name}`)
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
  await refuseWithoutSchema(client)
  await installJobQueueWithin(client)
  const inside = {
    query: (text: string, values?: unknown[]) =>
      transactionWords.has(text) ? Promise.resolve({ rows: [] }) : client.query(text, values),
  }
  return await apply(inside, set, await missing(client, set, upTo), {
    singleTransaction: true,
    noLock: true,
    write: (pgm, name) => pgm.sql(withinTransaction(readMigration(set.directory, name).text)),
  })
}

/** The statements of the runner that would begin or end a transaction. */
const transactionWords = new Set(['BEGIN', 'COMMIT', 'ROLLBACK'])

/** How many of the migrations up to `upTo` a database lacks. */
async function missing(client: pg.ClientBase, { names }: MigrationSet, upTo: string | undefined) {
  if (upTo === undefined) return Number.POSITIVE_INFINITY
  const wanted = names.indexOf(upTo) + 1
  if (wanted === 0) throw new Error(`the migration ${upTo} does not exist`)
  return Math.max(wanted - (await appliedMigrations(client)).length, 0)
}

/** Gives the runner the statements of a migration, in a transaction or outside any. */
function writeAlone(pgm: MigrationBuilder, set: MigrationSet, name: string, lockTimeout: string): void {
  const { isOutside, statements, text } = readMigration(set.directory, name)
  if (isOutside) pgm.noTransaction()
  // These statements let requests pass while they wait for a lock, so they may wait without a limit.
  const steps = isOutside ? ['set lock_timeout = 0', ...statements, lockTimeout] : [text]
  for (const step of steps) pgm.sql(step)
}

async function apply(
  client: { query: unknown },
  { directory }: MigrationSet,
  count: number,
  { write, ...how }: Applying,
): Promise<string[]> {
  const { runner } = await loadRunner()
  const load = async (paths: string[]) =>
    paths.map(path => ({
      id: path,
      filePaths: [path],
      actions: { up: (pgm: MigrationBuilder) => write(pgm, basename(path, '.sql')), down: false as const },
    }))
  const applied = await runner({
    dbClient: client as never,
    dir: directory,
    migrationsTable,
    migrationLoaderStrategies: [{ extensions: ['.sql'], loader: load }],
    direction: 'up',
    count,
    log: () => {},
    logger: { debug() {}, info() {}, warn() {}, error() {} },
    ...how,
  })
  return applied.map(migration => migration.name)
}

interface Applying {
  readonly singleTransaction: boolean
  readonly advisoryLockMode?: 'wait'
  readonly noLock?: boolean
  /** Writes the statements of a migration. */
  readonly write: (pgm: MigrationBuilder, name: string) => void
}

/** The migrations that a database has, in order; none if it was never migrated. */
export async function appliedMigrations(client: pg.ClientBase): Promise<string[]> {
  const { rows: found } = await client.query(`select to_regclass('${migrationsTable}') is not null as there`)
  if (!found[0].there) return []
  const { rows } = await client.query(`select name from ${migrationsTable} order by id`)
  return rows.map(row => row.name)
}
