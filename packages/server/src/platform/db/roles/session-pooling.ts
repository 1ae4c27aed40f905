import type pg from 'pg'
import { type Connection, connect } from '../connection.ts'

/** What is between a client and Postgres. */
export type Pooling = 'none' | 'session' | 'transaction'

const setting = 'keyrail.pooling'
/** A pooler with several free connections may hand out another one first. */
const neighboursMost = 12

/**
 * Finds a pooler that gives each transaction another connection. Prepared statements, settings of a session and its locks would
 * then belong to the next client.
 */
export async function findPooling(connection: Connection): Promise<Pooling> {
  const clients: pg.Client[] = []
  const open = async () => {
    const client = await connect(connection, 'pooling', false)
    clients.push(client)
    return client
  }
  try {
    const first = await open()
    const mark = String(Math.trunc(performance.now() * 1_000))
    const { rows } = await first.query(
      `select pg_backend_pid() as pid, set_config('${setting}', '${mark}', false) as mark`,
    )
    // A pooler gives its clients other numbers than those of the processes of Postgres.
    if ((first as { processID?: unknown }).processID === rows[0].pid) return 'none'
    for (let i = 0; i < neighboursMost; i += 1) {
      const next = await open()
      await next.query('begin')
      const { rows: seen } = await next.query(`select current_setting('${setting}', true) as mark`)
      // The session of the first client, while that client is connected.
      if (seen[0].mark === mark) return 'transaction'
      if (await hasMoved(first, rows[0].pid)) return 'transaction'
    }
    return 'session'
  } finally {
    await Promise.all(clients.map(client => client.end().catch(() => {})))
  }
}

const hasMoved = async (client: pg.Client, pid: number): Promise<boolean> =>
  (await client.query('select pg_backend_pid() as pid')).rows[0].pid !== pid
