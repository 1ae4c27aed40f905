/**
 * Backup and restore. A backup is one file: `catalogue.ts` lists tables (`left-out.ts`: what stays out), `snapshot.ts`
 * and `session.ts` read them at one moment, `format.ts` is its text, `age.ts` and `seal.ts` encrypt it,
 * `partial-file.ts` writes it whole or not at all. `restore.ts` checks `preconditions.ts`, opens it (`open-dump.ts`,
 * `reader.ts`, `source.ts`), empties the schema (`drop-schema.ts`) and loads rows (`load.ts`); a trial goes into
 * `scratch-database.ts`. `progress.ts` tells how far, `refused.ts` is an error for a person.
 */

import type { Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import type { Connection } from '../connection.ts'
import { encrypt, refuseRecipients } from './age.ts'
import type { DumpHeader } from './format.ts'
import { writeWhole } from './partial-file.ts'
import type { OnProgress } from './progress.ts'
import { measure, type Sealed, seal } from './seal.ts'
import { commit, withSession } from './session.ts'
import { openSnapshot, readSnapshot } from './snapshot.ts'

export interface BackupOptions {
  onProgress?: OnProgress
  /** Overwrites an existing file. */
  force?: boolean
  /** Encrypts for these recipients of age. */
  recipients?: readonly string[]
  /** Checks the complete file before it gets its name. If the check throws, the file is removed, unless the check renamed it. */
  check?: (partial: string, made: Backup) => Promise<void>
}

export interface Backup extends Sealed {
  header: DumpHeader
}

/**
 * Writes one consistent snapshot of a database, in memory that does not grow with the database. Reads and writes continue;
 * migrations wait.
 * @param to a file, which appears once it is complete; or a stream, which stays open.
 * @throws {DumpRefused} if the file exists or cannot be written, the database has no schema, or a recipient is invalid.
 */
export async function backup(
  connection: Connection,
  to: string | Writable,
  { onProgress = () => {}, force = false, recipients = [], check = async () => {} }: BackupOptions = {},
): Promise<Backup> {
  await refuseRecipients(recipients)
  const write = (out: Writable, end: boolean) => writeBackup(connection, out, end, recipients, onProgress)
  return typeof to === 'string'
    ? await writeWhole(to, force, file => write(file, true), check)
    : await write(to, false)
}

const writeBackup = (
  connection: Connection,
  out: Writable,
  end: boolean,
  recipients: readonly string[],
  onProgress: OnProgress,
) =>
  withSession(connection, 'backup', async (client): Promise<Backup> => {
    const header = await openSnapshot(client, onProgress)
    const sealed = Promise.withResolvers<Sealed>()
    await pipeline(
      readSnapshot(client, header, onProgress),
      createGzip(),
      (packed: AsyncIterable<Buffer>) =>
        recipients.length === 0
          ? seal(packed, sealed.resolve)
          : measure(
              encrypt(
                seal(packed, () => {}),
                recipients,
              ),
              sealed.resolve,
            ),
      out,
      { end },
    )
    await commit(client)
    return { header, ...(await sealed.promise) }
  })
