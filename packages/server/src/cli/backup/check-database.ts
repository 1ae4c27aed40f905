import { rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Config } from '../../config.ts'
import { type Connection, connectionFromUrl } from '../../platform/db/connection.ts'
import { endRestores, withScratchDatabase } from '../../platform/db/dump/scratch-database.ts'
import { findPlace } from '../../platform/db/embedded/directory.ts'
import { startEmbedded } from '../../platform/db/embedded/start.ts'
import { type CommandDatabase, withClient } from '../database.ts'

/** An empty database into which a backup can be restored on trial. */
export interface CheckDatabase {
  readonly connection: Connection
  /** Ends what works on it. Its work then fails, and `withCheckDatabase` removes what it has made. */
  end(): Promise<void>
}

/** Where backups are checked. */
export interface CheckPlace {
  readonly config: Pick<Config, 'dataDir'>
  readonly database: Pick<CommandDatabase, 'kind' | 'direct'>
  /** The name of a database of the same server, or a URL; by default one is made. */
  readonly given: string | undefined
  /** Gets every database before it is used. If it throws, the database is not used. */
  readonly onOpen?: (check: CheckDatabase) => void
}

/**
 * Gives work an empty database, and removes it afterwards: the given one, which stays, or a new one beside the service's.
 * The login of an embedded database may not create one, so a second server is started for it.
 * @throws {DumpRefused} if none can be made, with what to do.
 */
export async function withCheckDatabase<T>(
  { config, database, given, onOpen = () => {} }: CheckPlace,
  work: (connection: Connection) => Promise<T>,
): Promise<T> {
  const use: Use<T> = async check => {
    onOpen(check)
    return await work(check.connection)
  }
  if (given === undefined) {
    return database.kind === 'outside'
      ? await onNewDatabase(database.direct, use)
      : await onNewServer(join(config.dataDir, 'backup-check'), use)
  }
  const isUrl = /^postgres(ql)?:/.test(given)
  const connection = isUrl ? connectionFromUrl(given) : { ...database.direct, database: given }
  const end = () => withClient(connection, client => endRestores(client, connection.database ?? ''))
  return await use({ connection, end })
}

type Use<T> = (check: CheckDatabase) => Promise<T>

const onNewDatabase = <T>(source: Connection, use: Use<T>): Promise<T> =>
  withClient(source, client =>
    withScratchDatabase(client, source.database ?? 'keyrail', async name => {
      const end = () => withClient(source, other => endRestores(other, name))
      return await use({ connection: { ...source, database: name }, end })
    }),
  )

/** @param dataDir its place, which is the same each time, so that the next check removes what a killed one has left. */
async function onNewServer<T>(dataDir: string, use: Use<T>): Promise<T> {
  const postgres = await startEmbedded({ dataDir, log: { info() {}, warn() {} } })
  try {
    return await use({ connection: postgres.connection, end: () => postgres.stop() })
  } finally {
    await postgres.stop()
    for (const made of [findPlace(dataDir)?.base ?? dataDir, dataDir])
      rmSync(made, { recursive: true, force: true, maxRetries: 5 })
  }
}
