import type { Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import type { Connection } from '../connection.ts'
import type { DumpHeader } from './format.ts'
import { writeWhole } from './partial-file.ts'
import type { OnProgress } from './progress.ts'
import { type Sealed, seal } from './seal.ts'
import { commit, withSession } from './session.ts'
import { openSnapshot, readSnapshot } from './snapshot.ts'

export interface BackupOptions {
  onProgress?: OnProgress
  /** Writes over a file that is there. */
  force?: boolean
}

export interface Backup extends Sealed {
  header: DumpHeader
}

/**
 * Writes one consistent snapshot of a database, in memory that does not grow with it. Others read and write
 * meanwhile; migrations wait.
 * @param to a file, which is there only when it is whole; or a stream, which is left open.
 * @throws {DumpRefused} when the file is there or cannot be written, or the database has no schema.
 */
export async function backup(
  connection: Connection,
  to: string | Writable,
  { onProgress = () => {}, force = false }: BackupOptions = {},
): Promise<Backup> {
  if (typeof to === 'string') {
    return await writeWhole(to, force, file => writeBackup(connection, file, true, onProgress))
  }
  return await writeBackup(connection, to, false, onProgress)
}

const writeBackup = (connection: Connection, out: Writable, end: boolean, onProgress: OnProgress) =>
  withSession(connection, 'backup', async (client): Promise<Backup> => {
    const header = await openSnapshot(client, onProgress)
    const sealed = Promise.withResolvers<Sealed>()
    await pipeline(
      readSnapshot(client, header, onProgress),
      createGzip(),
      (packed: AsyncIterable<Buffer>) => seal(packed, sealed.resolve),
      out,
      { end },
    )
    await commit(client)
    return { header, ...(await sealed.promise) }
  })
