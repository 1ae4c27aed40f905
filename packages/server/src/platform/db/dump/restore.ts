import type pg from 'pg'
import { emptyJobQueue } from '../../jobs/job-queue.ts'
import type { Connection } from '../connection.ts'
import { versionsRaisedBy } from '../failover/timeline.ts'
import {
  lockMigrations,
  type MigrationSet,
  migrateWithin,
  ownMigrations,
  prepareServer,
} from '../migrate/migrate.ts'
import { grantServiceRights } from '../roles/service-rights.ts'
import { discardUnopened, queryOf } from '../sealed/columns.ts'
import { listTables, readSequences } from './catalogue.ts'
import { dropSchema } from './drop-schema.ts'
import { type DumpHeader, tableName } from './format.ts'
import { loadTables, setSequences } from './load.ts'
import { type OpenDump, openDump } from './open-dump.ts'
import { refuseInUse, refuseUnknownSchema, refuseUsed } from './preconditions.ts'
import type { OnProgress } from './progress.ts'
import { commit, withSession } from './session.ts'

export interface RestoreOptions {
  onProgress?: OnProgress
  /** Deletes the old contents in the same transaction, and does not check whether the service runs. */
  force?: boolean
  /** The ids of the encryption keys that the restored service will have; unset: all keys that the backup needs. */
  keyIds?: readonly string[]
  /** Identities of age, one of which opens an encrypted backup. */
  identities?: readonly string[]
  /** Does everything, and rolls back at the end instead of committing: the database is unchanged. */
  rehearse?: boolean
  /** The known schemas; Keyrail's own unless a test sets others. */
  migrations?: MigrationSet
}

/** What a restore needs to know of the rooms. */
export interface RoomsOfRestore {
  /** A table: a database that has rows of it is in use. */
  readonly inUse: string
  /** A table with one row for each project whose version is raised. */
  readonly raised: string
  /** Statements that end rights which may have ended after the backup, and which the restore would bring back. */
  readonly endings: readonly string[]
}

export interface Restore {
  header: DumpHeader
  /** The migrations applied after the rows were loaded, if the backup has an older schema. */
  migrated: readonly string[]
  /** Tables of the backup that are not Keyrail's and were skipped. */
  passedOver: readonly string[]
  /** Secrets that were sealed with a missing key and are removed. */
  secretsLost: readonly string[]
  /**
   * Projects whose version and floor were raised. Nodes may have seen versions from after the backup, which the restore loses;
   * without the raise, the restored database would use the same numbers for other changes.
   */
  projectsRaised: number
}

/**
 * Replaces Keyrail's contents of a database with those of a backup, all or nothing: schema, rows, newer migrations and raised
 * policy versions are one transaction. The whole file is verified first.
 * @throws {DumpRefused} saying why and what to do. The database is then unchanged, as after any other error.
 */
export async function restoreDump(
  connection: Connection,
  path: string,
  rooms: RoomsOfRestore,
  options: RestoreOptions,
): Promise<Restore> {
  const {
    onProgress = () => {},
    force = false,
    migrations = ownMigrations,
    keyIds,
    identities,
    rehearse,
  } = options
  const dump = await openDump(path, onProgress, identities)
  try {
    refuseUnknownSchema(dump.header, migrations)
    return await withSession(connection, 'restore', async client => {
      await beginReplacing(client, rooms, force)
      const loaded = await replace(client, dump, migrations, onProgress)
      const { rows: raised } = await client.query(
        `select count(*) as projects from ${tableName(rooms.raised)}`,
      )
      for (const ending of rooms.endings) await client.query(ending)
      const secretsLost = await renewSecrets(client, keyIds)
      const result = { ...loaded, projectsRaised: raised[0].projects, secretsLost }
      await dump.end()
      if (rehearse) await client.query('rollback')
      else await commit(client)
      return result
    })
  } finally {
    await dump.close()
  }
}

/**
 * Tries what a restore does to a database, without a backup, and rolls back.
 * @throws saying why a backup cannot be restored there.
 */
export async function tryRestoring(connection: Connection, rooms: RoomsOfRestore): Promise<void> {
  await withSession(connection, 'restore', async client => {
    await beginReplacing(client, rooms, false)
    await dropSchema(client, ownMigrations)
    await migrateWithin(client, undefined, ownMigrations)
    await client.query('rollback')
  })
}

async function beginReplacing(client: pg.ClientBase, rooms: RoomsOfRestore, force: boolean): Promise<void> {
  await prepareServer(client)
  await client.query('begin')
  await lockMigrations(client)
  if (force) return
  await refuseInUse(client)
  await refuseUsed(client, rooms.inUse)
}

async function replace(
  client: pg.ClientBase,
  dump: OpenDump,
  set: MigrationSet,
  onProgress: OnProgress,
): Promise<Omit<Restore, 'projectsRaised' | 'secretsLost'>> {
  const { header } = dump
  await dropSchema(client, set)
  await emptyJobQueue(client)
  // Any other object in the schema belongs to another owner, even if the backup has an object of that name.
  const foreign = await namesIn(client)
  await migrateWithin(client, header.migrations.at(-1), set)
  const ours = async () => (await listTables(client)).filter(({ name }) => !foreign.has(name))
  const passedOver = await loadTables(client, dump, await ours(), onProgress)
  await setSequences(client, header, foreign)
  const migrated = await migrateWithin(client, undefined, set)
  await grantServiceRights(client)
  await client.query('select raise_store($1, true)', [versionsRaisedBy])
  // Without statistics the first queries would scan whole tables.
  await client.query(`analyze ${(await ours()).map(({ name }) => tableName(name)).join(', ')}`)
  return { header, migrated, passedOver }
}

/**
 * The restored service makes a new signing key, so that a key stolen with the backup is useless.
 * @returns the other secrets that the service must make again.
 */
async function renewSecrets(
  client: pg.ClientBase,
  keyIds: readonly string[] | undefined,
): Promise<readonly string[]> {
  await client.query('delete from signing_keys')
  return keyIds === undefined ? [] : await discardUnopened(queryOf(client), keyIds)
}

/** The names of the existing tables and sequences. */
async function namesIn(client: pg.ClientBase): Promise<Set<string>> {
  return new Set([...(await listTables(client)), ...(await readSequences(client))].map(({ name }) => name))
}
