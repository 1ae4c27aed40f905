import type pg from 'pg'

/** This server has the commit, but perhaps no standby has it: the wait for the standby was cancelled. */
class Unconfirmed extends Error {
  /** SQLSTATE transaction_resolution_unknown: the call fails, and its transaction does not run again. */
  readonly code = '08007'
}

/** The function of Postgres that warns. The text of the warning is in the language of the server. */
const waitsForStandby = 'SyncRepWaitForLSN'

/**
 * When a wait for the synchronous standby is cancelled, by a CancelRequest or by an operator, Postgres warns, and then reports
 * the commit as done. Such a commit could be lost with this server, so the warning becomes an error on this connection, which
 * ends.
 */
export function failUnconfirmed(client: pg.ClientBase): void {
  client.on('notice', ({ routine, message }) => {
    if (routine !== waitsForStandby) return
    const { connection } = client as unknown as { connection: pg.Connection }
    connection.emit('error', new Unconfirmed(message))
  })
}
