import pg from 'pg'
import { type Connection, connect } from '../connection.ts'
import { DumpRefused } from './refused.ts'

/** How long to wait for a lock that a migration or a long transaction holds. */
const lockMs = 30_000
const lockNotAvailable = '55P03'

/**
 * Overrides what the server, database or role sets: values are read exactly, a statement fails instead of
 * skipping hidden rows, and only a lock ends a long copy.
 */
const settings = `
  set datestyle = 'ISO'; set intervalstyle = 'postgres'; set timezone = 'UTC';
  set bytea_output = 'hex'; set extra_float_digits = 3; set client_encoding = 'UTF8';
  set row_security = off;
  set statement_timeout = 0; set idle_in_transaction_session_timeout = 0;
  set synchronous_commit = on`

/** Only Postgres 17 and later have this setting. */
const noTransactionTimeout = `select set_config(name, '0', false) from pg_settings where name = 'transaction_timeout'`

/**
 * Opens a connection with the settings for copying, runs work on it, and closes it. Uncommitted work is rolled back.
 * @throws {DumpRefused} if a lock was not available in time.
 */
export async function withSession<T>(
  connection: Connection,
  name: 'backup' | 'restore',
  work: (client: pg.Client) => Promise<T>,
  lockTimeoutMs = lockMs,
): Promise<T> {
  const client = await connect(connection, name, false)
  try {
    await client.query(settings)
    await client.query(`set lock_timeout = ${lockTimeoutMs}`)
    await client.query(noTransactionTimeout)
    return await work(client)
  } catch (error) {
    if (!(error instanceof pg.DatabaseError) || error.code !== lockNotAvailable) throw error
    throw new DumpRefused(
      `The tables have been locked for more than ${lockTimeoutMs / 1000} s: a migration, a long query or ` +
        'another backup or restore. Try again when it is done.',
      { cause: error },
    )
  } finally {
    // An open transaction ends with its connection, and so does an interrupted COPY.
    await client.end()
  }
}

/** Postgres answers COMMIT of a failed transaction with the tag ROLLBACK, not with an error. */
export async function commit(client: pg.ClientBase): Promise<void> {
  const { command } = await client.query('commit')
  if (command !== 'COMMIT') throw new Error('the transaction was rolled back at its commit')
}
