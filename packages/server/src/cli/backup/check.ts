import { renameSync } from 'node:fs'
import type { Backup } from '../../platform/db/dump/backup.ts'
import { restore, tryRestore } from '../../restore.ts'
import { CommandFailed, explain } from '../failure.ts'
import { type CheckPlace, withCheckDatabase } from './check-database.ts'

/** @throws {CommandFailed} if no backup could be checked there. */
export async function refuseUncheckable(place: CheckPlace): Promise<void> {
  try {
    await withCheckDatabase(place, tryRestore)
  } catch (error) {
    throw new CommandFailed(`Backups cannot be checked. ${explain(error)}`, { cause: error })
  }
}

/** A backup of this name that failed its check. It may still be better than none. */
export const uncheckedPath = (file: string): string => `${file}.unchecked`

/**
 * Checks a complete file that does not have its name yet.
 * @throws {CommandFailed} saying where it is now, if the check fails.
 */
export async function checkBeforeNaming(
  place: CheckPlace,
  file: string,
  partial: string,
  made: Backup,
  identities: readonly string[],
): Promise<void> {
  try {
    await checkBackup(place, partial, made, identities)
  } catch (error) {
    const unchecked = uncheckedPath(file)
    renameSync(partial, unchecked)
    throw new CommandFailed(
      `${unchecked} was written, but its check failed, so it is not called ${file}: ${explain(error)}`,
      { cause: error },
    )
  }
}

/**
 * Restores a backup from its file, and undoes it. What is checked is therefore the bytes that a restore would read, through
 * decryption, checksum, constraints and migrations.
 * @param identities open the file.
 */
export async function checkBackup(
  place: CheckPlace,
  path: string,
  made: Backup,
  identities: readonly string[],
): Promise<void> {
  await withCheckDatabase(place, async connection => {
    const { header } = await restore(connection, path, { rehearse: true, identities })
    if (header.takenAt !== made.header.takenAt) throw new Error(`${path} was replaced while it was checked`)
  })
}
