/**
 * The primary may change. `timeline.ts` compares what a connection leads to and raises versions (`raised.ts` reads
 * them), `fence.ts` and `newest-primary.ts` keep off an old primary, `hosts.ts` with `host-list.ts` finds the new one,
 * `confirm.ts` waits for the standby. `readiness.ts` says whether the database serves, `watchdog.ts` whether it answers,
 * `store-clock.ts` whether its clock was set.
 */

import type pg from 'pg'
import { type Connection, connect, connectMsOf } from '../connection.ts'
import { destroySocket } from '../pool/destroy-socket.ts'
import { isOvertaken, overtake, type ServerMark } from './fence.ts'

/**
 * The least by which all policy versions and floors rise if the database may have lost some versions that nodes have got: after
 * a failover and by a restore. A node that saw fewer lost changes of a project than this polls from below the floor, and so
 * gets a whole snapshot. Versions rise at least to the clock's time: `raise_store` says why.
 */
export const versionsRaisedBy = 2 ** 20

/**
 * How long a raise may take. A raise writes one row and may wait for a standby to confirm it; other connections wait for its
 * lock.
 */
const raiseMs = 60_000

/** SQLSTATE undefined_function: the schema is older than this code, which readiness reports. */
const undefinedFunction = '42883'

/** The connection leads to a server that is not the primary, or is no longer the server to which the connection was opened. */
class NotThePrimary extends Error {
  /** SQLSTATE cannot_connect_now: the connection is dropped, and the caller may try again. */
  readonly code = '57P03'
}

/** Opens a separate connection to the primary. The caller ends it. @throws {NotThePrimary} */
export async function connectPrimary(
  connection: Connection,
  name: string,
  pipeline = true,
): Promise<pg.Client> {
  const client = await connect(connection, name, pipeline)
  try {
    await admitTo(connection)(client)
    return client
  } catch (error) {
    destroySocket(client)
    throw error
  }
}

/**
 * Runs before the first statement of every connection of the service. A promoted standby may lack commits of the old primary,
 * and would give their versions out a second time. So no request is served from a timeline for which the versions were not
 * raised. One connection raises the versions; all others wait for its commit.
 * @param answerMs how long the server may take to answer.
 * @throws {NotThePrimary} if the server is a standby, or another server was promoted after it.
 */
async function admit(client: pg.ClientBase, answerMs: number): Promise<void> {
  let server = await askServer(client, answerMs)
  if (server.state === 'new' && !isOvertaken(server)) {
    await within(client, raiseMs, raise)
    server = await askServer(client, answerMs)
  }
  if (isOvertaken(server))
    throw new NotThePrimary(
      'another server was promoted after this one, which was not shut down; to go back to it, restart the service',
    )
  if (server.state !== 'same') throw new NotThePrimary('the database is a standby, or is failing over')
  overtake(client, server)
}

/** `admit` for a pool of this connection. The server has as long to answer as a connection has to open. */
export const admitTo =
  (connection: Connection) =>
  (client: pg.ClientBase): Promise<void> =>
    admit(client, connectMsOf(connection))

/**
 * Settings that statements rely on, whatever the server, the database or the role has set. At a higher isolation than the code
 * is written for, transactions of one workspace would end each other; times are read in the ISO style only.
 */
const reliedOn = {
  default_transaction_isolation: 'read committed',
  default_transaction_deferrable: 'off',
  row_security: 'on',
  standard_conforming_strings: 'on',
  DateStyle: 'ISO, MDY',
  IntervalStyle: 'postgres',
  TimeZone: 'UTC',
}

/**
 * One query applies all settings to a connection. A commit that no standby confirmed is known by its warning, which a setting
 * of the role could suppress. Without statistics for a table, as after a restore, Postgres may estimate a small page as so
 * expensive that it compiles the statement, which takes seconds.
 *
 * A machine that vanishes does not close its connections: Postgres would keep them for two hours, while the process that
 * replaces it needs them and the turn of upkeep. With the keepalive settings Postgres probes after 30 s, and ends such a
 * connection after a minute. On a socket file these settings do nothing.
 */
const stateAndSettings = `select store_level_state() as state, store_wal_timeline() as timeline,
  nullif(store_system_id(), '') || '/' || store_database_id() as store, set_config('jit', 'off', false),
  set_config('client_min_messages', 'warning', false), set_config('tcp_keepalives_idle', '30', false),
  set_config('tcp_keepalives_interval', '10', false), set_config('tcp_keepalives_count', '3', false),
  set_config('tcp_user_timeout', '60s', false),
  ${Object.entries(reliedOn)
    .map(([name, value]) => `set_config('${name}', '${value}', false)`)
    .join(', ')}`

async function askServer(
  client: pg.ClientBase,
  answerMs: number,
): Promise<ServerMark & { readonly state: string }> {
  try {
    const { rows } = await within(client, answerMs, stateAndSettings)
    return rows[0]
  } catch (error) {
    if ((error as { code?: unknown }).code === undefinedFunction)
      return { state: 'same', store: null, timeline: 'none' }
    throw error
  }
}

/** After an error the connection is dropped, and its transaction with it. */
const raise = `begin; set local statement_timeout = ${raiseMs}; set local lock_timeout = ${raiseMs};
  select raise_store(${versionsRaisedBy}, false); commit`

/** @throws {NotThePrimary} unless the row of a statement with `store_level_is_same()` says that the server is the same. */
export function requireSame(row: Record<string, unknown> | undefined): void {
  if (row?.same === false) throw new NotThePrimary('the database was replaced under an open connection')
}

/** A server that has fallen silent would never answer, so its connection is cut. */
async function within(client: pg.ClientBase, ms: number, text: string): Promise<pg.QueryResult> {
  const timer = setTimeout(() => destroySocket(client), ms)
  try {
    return await client.query(text)
  } finally {
    clearTimeout(timer)
  }
}
