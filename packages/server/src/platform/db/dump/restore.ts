import type pg from 'pg'
import type { Connection } from '../connection.ts'
import { emptyJobQueue } from '../job-queue.ts'
import { lockMigrations, type MigrationSet, migrateWithin, ownMigrations, prepareServer } from '../migrate.ts'
import { listTables, readSequences } from './catalogue.ts'
import { dropSchema } from './drop-schema.ts'
import { type DumpHeader, tableName } from './format.ts'
import { loadTables, setSequences } from './load.ts'
import { type OpenDump, openDump } from './open-dump.ts'
import { refuseInUse, refuseUnknownSchema, refuseUsed } from './preconditions.ts'
import type { OnProgress } from './progress.ts'
import { commit, withSession } from './session.ts'

/**
 * How far a restore raises every project's policy version and floor. Nodes saw versions that were given out
 * after the backup and are now lost; the restored database would give out the same numbers for other changes.
 * A node that saw fewer than this many lost changes of a project asks from below the floor, and so is given a
 * whole snapshot.
 */
export const versionsRaisedBy = 2 ** 20

export interface RestoreOptions {
  onProgress?: OnProgress
  /** Deletes what is there, in the same transaction, and does not ask whether the service runs. */
  force?: boolean
  /** The schemas that are known; Keyrail's own unless a test brings others. */
  migrations?: MigrationSet
}

export interface Restore {
  header: DumpHeader
  /** Applied after the rows were loaded, where the backup is of an older schema. */
  migrated: readonly string[]
  /** Tables of the backup that are not Keyrail's and were passed over. */
  passedOver: readonly string[]
  /** Projects whose version and floor were raised. */
  projectsRaised: number
}

/**
 * Replaces what Keyrail has in a database by what a backup holds, all of it or nothing: schema, rows, newer
 * migrations and raised policy versions are one transaction. The file is verified to its last byte before.
 * @throws {DumpRefused} saying why and what to do; the database is then as it was, as after any other error.
 */
export async function restore(
  connection: Connection,
  path: string,
  { onProgress = () => {}, force = false, migrations = ownMigrations }: RestoreOptions = {},
): Promise<Restore> {
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
      const result = await replace(client, dump, migrations, onProgress)
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
): Promise<Restore> {
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
  const { rowCount } = await client.query(
    'update policy_heads set version = version + $1, floor = version + $1',
    [versionsRaisedBy],
  )
  // Without statistics the first queries would read whole tables.
  await client.query(`analyze ${(await ours()).map(({ name }) => tableName(name)).join(', ')}`)
  return { header, migrated, passedOver, projectsRaised: rowCount ?? 0 }
}

/** Names of the tables and sequences that are there. */
async function namesIn(client: pg.ClientBase): Promise<Set<string>> {
  return new Set([...(await listTables(client)), ...(await readSequences(client))].map(({ name }) => name))
}
