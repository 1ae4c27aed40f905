import { setTimeout as sleep } from 'node:timers/promises'
import { type Connection, patientAtStart, placeOf } from '../../platform/db/connection.ts'
import { isLoginRefused, isUnavailable } from '../../platform/db/errors.ts'
import type { ServerFacts } from '../../platform/db/roles/server-facts.ts'
import type { Logger } from '../../platform/observe/log.ts'
import { inspectServer } from '../database.ts'
import { CommandFailed } from '../failure.ts'
import { explainUnreachable } from '../unreachable.ts'

/** The pause between two tries, and between two lines that give the same reason. Milliseconds. */
const pauseMs = 1_000
const logAgainMs = 60_000
/** How long a server that takes connections may stay silent. */
const answerMs = 15_000

/** It may be promoted, or the address may come to lead to the primary. */
class Standby extends CommandFailed {
  override name = 'Standby'
}

/**
 * Waits until the database can be used. A service manager waits longer and longer before it starts a process again, up to
 * minutes: one that waits by itself is there as soon as its database is.
 * @returns null once `signal` is aborted.
 * @throws at once where waiting does not help: a refused login, a missing database, a certificate, an old Postgres.
 */
export async function awaitDatabase(
  connection: Connection,
  log: Pick<Logger, 'warn' | 'info'>,
  signal: AbortSignal,
): Promise<ServerFacts | null> {
  const patient = { ...patientAtStart(connection), query_timeout: answerMs }
  let logged = { reason: '', at: 0 }
  while (!signal.aborted) {
    try {
      const facts = await inspectServer(patient)
      if (facts.isStandby) throw new Standby(`The database at ${placeOf(connection)} is a standby.`)
      if (logged.reason !== '') log.info({}, 'the database can be used')
      return facts
    } catch (error) {
      const reason = reasonToWait(error, connection)
      if (reason === null) throw error
      const now = performance.now()
      if (reason !== logged.reason || now - logged.at > logAgainMs) {
        logged = { reason, at: now }
        log.warn({ reason }, 'waiting for the database')
      }
    }
    await sleep(pauseMs, undefined, { signal }).catch(() => {})
  }
  return null
}

/** Null: waiting does not help. */
function reasonToWait(error: unknown, connection: Connection): string | null {
  if (error instanceof Standby) return error.message
  // What the connection failed with is the cause of the sentence about it.
  const cause = error instanceof CommandFailed ? error.cause : error
  if (!isUnavailable(cause) || isLoginRefused(cause)) return null
  return explainUnreachable(cause, connection) ?? (cause instanceof Error ? cause.message : String(cause))
}
