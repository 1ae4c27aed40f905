import type pg from 'pg'
import type { Clock } from '../../clock.ts'
import { type Connection, sql } from '../connection.ts'
import { connectPrimary } from '../failover/timeline.ts'
import { destroySocket } from '../pool/destroy-socket.ts'

/** The connection that listens for hints. It sends heartbeats to itself, and opens again when they do not arrive. */
export interface Listener {
  /** Listens from now on, and reconnects after a lost connection. */
  open(): void
  /** When the last notification arrived, by the wall clock; 0: none yet; null: the listener was never opened. */
  notifiedAt(): number | null
  close(): void
}

export interface ListenerParts {
  /** Must bypass a pooler: LISTEN needs its own session. */
  readonly connection: Connection
  readonly now: Clock['now']
  notified(topic: string): void
  /** Called when the store is asked for its time. @returns a function for the store's answer, in ms since 1970. */
  askTime(): (storeMs: number) => void
  /** Called after a reconnect, because hints that were sent meanwhile are lost. */
  returned(): void
  /** Runs a function repeatedly. @returns a function that stops it. */
  every?(ms: number, run: () => void): () => void
}

export const notify = sql('hints.notify', `select pg_notify('keyrail', topic) from unnest($1::text[]) topic`)

/** The topic of the heartbeats that this connection sends to itself. No code subscribes to this topic. */
const beatTopic = 'beat'
const sendBeat = `select pg_notify('keyrail', '${beatTopic}'), (extract(epoch from service_now()) * 1000)::float8 as now`
const beatMs = 2_000
/**
 * A socket that hangs looks like a socket without traffic. After so many missed heartbeats the connection is cut. Heartbeats
 * are counted, not timed, so that a process that stalls does not blame the database for its own stall.
 */
const missedMost = 3
const reopenMs = 1_000

export function openListener({
  connection,
  now,
  notified,
  askTime,
  returned,
  every = byInterval,
}: ListenerParts): Listener {
  let client: pg.Client | null = null
  let isOpening = false
  let isClosed = false
  let notifiedAt: number | null = null
  let missed = 0
  let isSending = false
  let reopening: NodeJS.Timeout | undefined
  let stopBeats: (() => void) | null = null

  const beat = () => {
    if (client === null) return
    if (missed >= missedMost) return destroySocket(client)
    missed += 1
    if (isSending) return
    isSending = true
    const tellTime = askTime()
    client
      .query(sendBeat)
      .then(({ rows }) => tellTime(rows[0].now))
      .catch(() => {})
      .finally(() => {
        isSending = false
      })
  }
  const onNotification = ({ payload = '' }: pg.Notification) => {
    missed = 0
    notifiedAt = now()
    if (payload !== beatTopic) notified(payload)
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
      missed = 0
      own.on('notification', onNotification)
      own.on('end', () => lose(own))
      if (isClosed) return destroySocket(own)
      // If the socket hangs already, missed heartbeats cut it.
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
      notifiedAt ??= 0
      stopBeats ??= every(beatMs, beat)
      void listen()
    },
    notifiedAt: () => notifiedAt,
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
