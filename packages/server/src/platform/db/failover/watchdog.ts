import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import { Refusal } from '../../refusal.ts'
import { type Connection, connect } from '../connection.ts'
import { destroySocket } from '../pool/destroy-socket.ts'

/** `watchdogMs` and this time together are less than a request's budget, so that a database that hangs is noticed within it. */
const everyMs = 1_000

/** SQLSTATE too_many_connections: the server has no space for the query, but has answered. */
const tooManyConnections = '53300'

/**
 * Waits for long work only while the database answers at all. The watchdog queries the database on a separate connection once a
 * second; work that ends sooner costs no query.
 * @param watchdogMs how long an answer may take.
 * @returns `unanswered` rejects with `unavailable` if no answer came in time; `stop` ends the queries.
 */
export function startWatchdog(
  connection: Connection,
  watchdogMs: number,
): { unanswered: Promise<never>; stop(): void } {
  const { promise: unanswered, reject } = Promise.withResolvers<never>()
  unanswered.catch(() => {})
  const stopped = new AbortController()
  let client: pg.Client | undefined

  const ask = async () => {
    client ??= await connect(connection, 'watchdog', false)
    await client.query('select 1')
  }
  const answers = () =>
    Promise.race([
      ask().then(
        () => true,
        error => error?.code === tooManyConnections,
      ),
      sleep(watchdogMs, false, { signal: stopped.signal }),
    ])
  const watch = async () => {
    for (;;) {
      await sleep(everyMs, undefined, { signal: stopped.signal })
      if (!(await answers())) return reject(new Refusal('unavailable'))
    }
  }
  // The queries end when `stop` is called, or after `unanswered` has rejected.
  watch()
    .catch(() => {})
    .finally(() => client && destroySocket(client))

  return { unanswered, stop: () => stopped.abort() }
}
