import type pg from 'pg'
import { type Connection, sql } from './connection.ts'
import { type LaneObserver, openLane } from './lane.ts'
import { connectPrimary } from './timeline.ts'

/**
 * Tells whoever waits, in this process and in others, that it is worth looking. A hint carries no data and may
 * be lost: those who wait also look by themselves. It is sent after the commit and never inside of it, since
 * NOTIFY takes a lock on the whole database at commit (11,200 commits/s became 3,500 to 5,100).
 */
export interface Hints {
  announce(topic: string): void
  /** @returns a function that ends it. */
  listen(topic: string, hear: () => void): () => void
  close(): Promise<void>
}

const notify = sql('hints.notify', `select pg_notify('keyrail', topic) from unnest($1::text[]) topic`)
const reconnectMs = 1_000

export function openHints(connection: Connection, observer: LaneObserver): Hints {
  const listeners = new Map<string, Set<() => void>>()
  const lane = openLane<string, void>(
    connection,
    {
      name: 'hints',
      statement: notify,
      // Twice is as good as once.
      repeatable: true,
      values: topics => [[...new Set(topics)]],
      answers: (_rows, topics) => topics.map(() => undefined),
    },
    observer,
  )
  let ear: pg.Client | null = null
  let opening = false
  let closed = false
  let retry: NodeJS.Timeout | undefined

  const tell = (topic: string) => {
    for (const hear of listeners.get(topic) ?? []) hear()
  }
  /** Kept from the first listener on; what was announced while it was away is found by looking. */
  const openEar = async () => {
    if (ear !== null || opening || closed) return
    opening = true
    try {
      const client = await connectPrimary(connection, 'hints', false)
      client.on('notification', ({ payload = '' }) => tell(payload))
      client.on('end', () => {
        ear = null
        reopen()
      })
      ear = client
      await client.query('listen keyrail')
      if (closed) await client.end()
    } catch {
      ear = null
      reopen()
    } finally {
      opening = false
    }
  }
  const reopen = () => {
    if (closed) return
    clearTimeout(retry)
    retry = setTimeout(openEar, reconnectMs).unref()
  }

  return {
    announce(topic) {
      tell(topic)
      // Its own notification comes back to this process too: one more look, which finds nothing new.
      lane.run(topic).catch(() => {})
    },
    listen(topic, hear) {
      const hearers = listeners.get(topic) ?? new Set()
      listeners.set(topic, hearers.add(hear))
      void openEar()
      return () => {
        hearers.delete(hear)
        if (hearers.size === 0) listeners.delete(topic)
      }
    },
    async close() {
      closed = true
      clearTimeout(retry)
      await Promise.all([lane.close(), ear?.end().catch(() => {})])
    },
  }
}
