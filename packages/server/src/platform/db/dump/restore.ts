import type pg from 'pg'
import type { Connection } from '../connection.ts'
import { emptyJobQueue } from '../job-queue.ts'
import { lockMigrations, type MigrationSet, migrateWithin, ownMigrations, prepareServer } from '../migrate.ts'
import { discardUnopened, queryOf } from '../sealed-columns.ts'
import { versionsRaisedBy } from '../timeline.ts'
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
  /** Deletes what is there, in the same transaction, and does not ask whether the service runs. */
  force?: boolean
  /** Ids of the encryption keys that the restored service will have; left out: all that it needs. */
  keyIds?: readonly string[]
  /** The schemas that are known; Keyrail's own unless a test brings others. */
  migrations?: MigrationSet
}

export interface Restore {
  header: DumpHeader
  /** Applied after the rows were loaded, where the backup is of an older schema. */
  migrated: readonly string[]
  /** Tables of the backup that are not Keyrail's and were passed over. */
  passedOver: readonly string[]
  /** Secrets that were sealed by a key which is not given, and so were removed. */
  secretsLost: readonly string[]
  /** Projects whose version and floor were raised. */
  projectsRaised: number
  /**
   * By how much. Nodes saw versions that were given out after the backup and are now lost; the restored database would
   * give out the same numbers for other changes.
   */
  versionsRaised: number
}

/**
 * Replaces what Keyrail has in a database by what a backup holds, all of it or nothing: schema, rows, newer
 * migrations and raised policy versions are one transaction. The file is verified to its last byte before.
 * @throws {DumpRefused} saying why and what to do; the database is then as it was, as after any other error.
 */
export async function restore(
  connection: Connection,
  path: string,
  options: RestoreOptions = {},
): Promise<Restore> {
  const { onProgress = () => {}, force = false, migrations = ownMigrations, keyIds } = options
  const dump = await openDump(path, onProgress)
  try {
    refuseUnknownSchema(dump.header, migrations)
    return await withSession(connection, 'restore', async client => {
      await prepareServer(client)
      await client.query('begin')
      await lockMigrations(client)
      if (!force) {
        await refuseInUse(client)
        await refuseUsed(client)
      }
      const loaded = await replace(client, dump, migrations, onProgress)
      const result = { ...loaded, secretsLost: await renewSecrets(client, keyIds) }
      await dump.end()
      await commit(client)
      return result
    })
  } finally {
    await dump.close()
  }
}

async function replace(
  client: pg.ClientBase,
  dump: OpenDump,
  set: MigrationSet,
  onProgress: OnProgress,
): Promise<Omit<Restore, 'secretsLost'>> {
  const { header } = dump
  await dropSchema(client, set)
  await emptyJobQueue(client)
  // Whatever else lies in the schema is somebody else's, even if the backup has something of that name.
  const foreign = await namesIn(client)
  await migrateWithin(client, header.migrations.at(-1), set)
  const ours = async () => (await listTables(client)).filter(({ name }) => !foreign.has(name))
  const passedOver = await loadTables(client, dump, await ours(), onProgress)
  await setSequences(client, header, foreign)
  const migrated = await migrateWithin(client, undefined, set)
  const { rows } = await client.query('select adopt_store($1, true) as raised', [versionsRaisedBy])
  const { rows: heads } = await client.query('select count(*) as number from policy_heads')
  // Without statistics the first queries would read whole tables.
  await client.query(`analyze ${(await ours()).map(({ name }) => tableName(name)).join(', ')}`)
  return { header, migrated, passedOver, projectsRaised: heads[0].number, versionsRaised: rows[0].raised }
}

/**
 * The restored service makes a signing key of its own: one that was stolen with the backup is of no use.
 * @returns the other secrets that it has to make anew.
 */
async function renewSecrets(
  client: pg.ClientBase,
  keyIds: readonly string[] | undefined,
): Promise<readonly string[]> {
  await client.query('delete from signing_keys')
  return keyIds === undefined ? [] : await discardUnopened(queryOf(client), keyIds)
}

/** Names of the tables and sequences that are there. */
async function namesIn(client: pg.ClientBase): Promise<Set<string>> {
  return new Set([...(await listTables(client)), ...(await readSequences(client))].map(({ name }) => name))
}
