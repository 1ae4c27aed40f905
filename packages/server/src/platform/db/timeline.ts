import type pg from 'pg'
import { type Connection, connect } from './connection.ts'
import { destroySocket } from './destroy-socket.ts'

/**
 * How far all policy versions and floors are raised where the database may have lost some that it gave out: after a
 * fail-over and by a restore. A node that saw fewer than this many lost changes of a project asks from below the floor,
 * and so is given a whole snapshot.
 */
export const versionsRaisedBy = 2 ** 20

/** How long the server may take to say where we are, as long as a connection may take to open. */
const answerMs = 1_500
/** How long a raise may take, of a million projects with slow disks; others wait for its lock meanwhile. */
const raiseMs = 60_000

/** SQLSTATE undefined_function: the schema is older than this code, which readiness tells. */
const undefinedFunction = '42883'

/** The connection leads to a server that is not the primary, or no longer the one that it was opened to. */
export class NotThePrimary extends Error {
  /** SQLSTATE cannot_connect_now: the connection is dropped, and the caller may ask again. */
  readonly code = '57P03'
}

/** A connection of one's own to the primary. The caller ends it. @throws {NotThePrimary} */
export async function connectPrimary(
  connection: Connection,
  name: string,
  pipeline = true,
): Promise<pg.Client> {
  const client = await connect(connection, name, pipeline)
  try {
    await admit(client)
    return client
  } catch (error) {
    destroySocket(client)
    throw error
  }
}

/**
 * Comes before the first statement of every connection of the service. A promoted standby may lack commits of the
 * primary that it replaces, and would give their versions out a second time: so nobody is served from a timeline for which
 * all versions were not raised. One connection raises them; all others wait for its commit.
 * @throws {NotThePrimary} where the server is a standby.
 */
export async function admit(client: pg.ClientBase): Promise<void> {
  let state = await askState(client)
  if (state === 'new') {
    await within(client, raiseMs, raise)
    state = await askState(client)
  }
  if (state !== 'same') throw new NotThePrimary('the database is a standby, or is becoming another')
}

/**
 * With the question travels what every connection is set to. Without statistics of a table, as after a restore, Postgres
 * can think a small page so dear that it compiles the statement, which takes it seconds.
 */
const stateAndSettings = `select store_state() as state, set_config('jit', 'off', false)`

async function askState(client: pg.ClientBase): Promise<string> {
  try {
    const { rows } = await within(client, answerMs, stateAndSettings)
    return rows[0].state
  } catch (error) {
    if ((error as { code?: unknown }).code === undefinedFunction) return 'same'
    throw error
  }
}

/** After an error the connection is dropped, and its transaction with it. */
const raise = `begin; set local statement_timeout = ${raiseMs}; set local lock_timeout = ${raiseMs};
  select adopt_store(${versionsRaisedBy}, false); commit`

/** @throws {NotThePrimary} unless the row, of a statement that has asked `store_is_same()`, says that it is. */
export function requireSame(row: Record<string, unknown> | undefined): void {
  if (row?.same === false) throw new NotThePrimary('the database was replaced beneath an open connection')
}

/** A server that has fallen silent would never answer: its connection is cut. */
async function within(client: pg.ClientBase, ms: number, text: string): Promise<pg.QueryResult> {
  const timer = setTimeout(() => destroySocket(client), ms)
  try {
    return await client.query(text)
  } finally {
    clearTimeout(timer)
  }
}
