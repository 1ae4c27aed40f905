import type pg from 'pg'
import type { Clock } from '../../clock.ts'
import { type Connection, sql } from '../connection.ts'
import { connectPrimary } from '../failover/timeline.ts'
import { destroySocket } from '../pool/destroy-socket.ts'

/** The connection that listens for hints. It notices by itself when it hears nothing any more. */
export interface Ear {
  /** Listens from now on, whatever happens to its connection. */
  open(): void
  /** When it last heard anything, by the wall clock; 0: not yet; null: it was never opened. */
  heardAt(): number | null
  close(): void
}

export interface EarParts {
  /** Must bypass a pooler: LISTEN needs its own session. */
  readonly connection: Connection
  readonly now: Clock['now']
  hear(topic: string): void
  /** The store is asked for its time. @returns what hears the answer, in ms since 1970. */
  askTime(): (storeMs: number) => void
  /** It listens again. What was announced meanwhile has not been heard. */
  returned(): void
  /** Runs something again and again. @returns a function that ends it. */
  every?(ms: number, run: () => void): () => void
}

export const notify = sql('hints.notify', `select pg_notify('keyrail', topic) from unnest($1::text[]) topic`)

/** What the ear says to itself. No listener asks for this topic. */
const beatTopic = 'beat'
const sendBeat = `select pg_notify('keyrail', '${beatTopic}'), (extract(epoch from service_now()) * 1000)::float8 as now`
const beatMs = 2_000
/**
 * A socket that hangs looks like one on which nothing happens. After so many beats unheard the connection is cut. They are
 * counted, not timed, so that a process which stalls does not take its own stall for the database's.
 */
const unheardMost = 3
const reopenMs = 1_000

export function openEar({ connection, now, hear, askTime, returned, every = byInterval }: EarParts): Ear {
  let client: pg.Client | null = null
  let isOpening = false
  let isClosed = false
  let heardAt: number | null = null
  let unheard = 0
  let isSpeaking = false
  let reopening: NodeJS.Timeout | undefined
  let stopBeats: (() => void) | null = null

  const beat = () => {
    if (client === null) return
    if (unheard >= unheardMost) return destroySocket(client)
    unheard += 1
    if (isSpeaking) return
    isSpeaking = true
    const hearTime = askTime()
    client
      .query(sendBeat)
      .then(({ rows }) => hearTime(rows[0].now))
      .catch(() => {})
      .finally(() => {
        isSpeaking = false
      })
  }
  const heard = ({ payload = '' }: pg.Notification) => {
    unheard = 0
    heardAt = now()
    if (payload !== beatTopic) hear(payload)
  }
  const lose = (lost: pg.Client) => {
    if (client !== lost) return
    client = null
    reopen()
  }
  const reopen = () => {
    if (isClosed) return
    clearTimeout(reopening)
    reopening = setTimeout(listen, reopenMs).unref()
  }
  const listen = async () => {
    if (client !== null || isOpening || isClosed) return
    isOpening = true
    try {
      const own = await connectPrimary(connection, 'hints', false)
      client = own
      unheard = 0
      own.on('notification', heard)
      own.on('end', () => lose(own))
      if (isClosed) return destroySocket(own)
      // If the socket hangs already, beats cut it.
      await own.query('listen keyrail')
      beat()
      returned()
    } catch {
      if (client === null) reopen()
      else destroySocket(client)
    } finally {
      isOpening = false
    }
  }

  return {
    open() {
      heardAt ??= 0
      stopBeats ??= every(beatMs, beat)
      void listen()
    },
    heardAt: () => heardAt,
    close() {
      isClosed = true
      stopBeats?.()
      clearTimeout(reopening)
      // A socket that hangs would never end by itself.
      if (client !== null) destroySocket(client)
    },
  }
}

function byInterval(ms: number, run: () => void): () => void {
  const timer = setInterval(run, ms).unref()
  return () => clearInterval(timer)
}
