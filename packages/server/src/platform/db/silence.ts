import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import { Refusal } from '../refusal.ts'
import { type Connection, connect } from './connection.ts'
import { destroySocket } from './destroy-socket.ts'

/** Together below a request's deadline: a store that falls silent is noticed within it. */
const everyMs = 1_000
const answerMs = 800

/** SQLSTATE too_many_connections: no room for the question, but somebody has said so. */
const noRoom = '53300'

/**
 * A work that may take long is waited for only while the store answers anybody. Asks it on a connection of its
 * own, once a second; a work that is over before costs no question.
 * @returns `silent` rejects with `unavailable` when no answer came in time; `stop` ends the asking.
 */
export function watchForSilence(connection: Connection): { silent: Promise<never>; stop(): void } {
  const { promise: silent, reject } = Promise.withResolvers<never>()
  silent.catch(() => {})
  const stopped = new AbortController()
  let client: pg.Client | undefined

  const ask = async () => {
    client ??= await connect(connection, 'silence', false)
    await client.query('select 1')
  }
  const answers = () =>
    Promise.race([
      ask().then(
        () => true,
        error => error?.code === noRoom,
      ),
      sleep(answerMs, false, { signal: stopped.signal }),
    ])
  const watch = async () => {
    for (;;) {
      await sleep(everyMs, undefined, { signal: stopped.signal })
      if (!(await answers())) return reject(new Refusal('unavailable'))
    }
  }
  // It ends by being stopped, or by having told of silence.
  watch()
    .catch(() => {})
    .finally(() => client && destroySocket(client))

  return { silent, stop: () => stopped.abort() }
}
