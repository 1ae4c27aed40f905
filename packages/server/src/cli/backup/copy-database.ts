import type { Config } from '../../config.ts'
import { DumpRefused } from '../../platform/db/dump/refused.ts'
import { type CommandDatabase, openDatabase } from '../database.ts'
import { Cancelled, CommandFailed, interruptedCode } from '../failure.ts'
import { withProgress } from '../progress.ts'

const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/**
 * Opens the database for a backup or a restore, and ends both if the person interrupts.
 * @param create for a restore: creates a missing embedded database.
 */
export async function withCopyDatabase<T>(
  config: Config,
  work: (database: CommandDatabase) => Promise<T>,
  { create = false } = {},
): Promise<T> {
  const database = await withProgress('Opening the database', () => openDatabase(config, { create }))
  let interrupted = false
  const interrupt = () => {
    interrupted = true
    // A plain signal would end this process without the exit that removes the partial file. A Postgres that this
    // command has started is stopped first, which ends the work.
    if (database.kind !== 'started') process.exit(interruptedCode)
  }
  for (const signal of signals) process.on(signal, interrupt)
  try {
    return await work(database)
  } catch (error) {
    if (interrupted) throw new Cancelled('Interrupted. Nothing was changed.', { cause: error })
    throw error instanceof DumpRefused ? new CommandFailed(error.message, { cause: error }) : error
  } finally {
    for (const signal of signals) process.off(signal, interrupt)
    await database.close()
  }
}
