import type { Connection } from '../../platform/db/connection.ts'
import { findPooling, type Pooling } from '../../platform/db/roles/session-pooling.ts'
import type { CommandDatabase } from '../database.ts'
import { CommandFailed } from '../failure.ts'

const reason = (setting: string) =>
  `${setting} leads through a pooler that pools transactions. Keyrail prepares statements and keeps settings and locks ` +
  'for a session, which would reach other clients.'
export const poolerTodo =
  'Set the pooler to session mode (pgbouncer: pool_mode = session for this database), or name Postgres itself.'

/** A setting with the URL of a database that pools transactions; null if none does. */
export async function findTransactionPooler({
  connection,
  direct,
}: Pick<CommandDatabase, 'connection' | 'direct'>): Promise<string | null> {
  const pools = async (one: Connection): Promise<Pooling> => await findPooling(one)
  if ((await pools(connection)) === 'transaction') return reason('DATABASE_URL')
  if (direct !== connection && (await pools(direct)) === 'transaction') return reason('DATABASE_DIRECT_URL')
  return null
}

/** @throws {CommandFailed} before the first request meets the session of another client. */
export async function refuseTransactionPooler(
  database: Pick<CommandDatabase, 'connection' | 'direct'>,
): Promise<void> {
  const found = await findTransactionPooler(database)
  if (found !== null) throw new CommandFailed(`${found}\n${poolerTodo}`)
}
