import type pg from 'pg'
import { destroySocket } from '../pool/destroy-socket.ts'

/**
 * Keeps the process on the newest of the servers that act as primary. After a promotion, an old primary that was not shut down
 * still acknowledges writes, which no other server will ever have. Each promotion begins a higher timeline: the first
 * connection to the new primary therefore cuts all connections to the old one.
 */

/** A server, as a connection finds it. */
export interface ServerMark {
  /** The cluster and the database in it, which a standby has in common with its primary; null where they cannot be read. */
  readonly store: string | null
  /** The timeline of the write-ahead log in eight hexadecimal digits; any other text if it could not be read. */
  readonly timeline: string
}

interface Met {
  highest: number
  /** Open connections, and the timeline of each. */
  readonly open: Map<pg.ClientBase, number>
}

const met = new Map<string, Met>()

/** Whether the process has met a newer server of the same database. */
export function isOvertaken({ store, timeline }: ServerMark): boolean {
  const highest = store === null ? undefined : met.get(store)?.highest
  return highest !== undefined && numberOf(timeline) < highest
}

/** Records an open connection, and cuts connections to older servers of the same database. */
export function overtake(client: pg.ClientBase, { store, timeline }: ServerMark): void {
  const number = numberOf(timeline)
  if (store === null || Number.isNaN(number)) return
  const known = met.get(store) ?? { highest: number, open: new Map() }
  met.set(store, known)
  known.highest = Math.max(known.highest, number)
  known.open.set(client, number)
  client.once('end', () => known.open.delete(client))
  for (const [other, its] of known.open) if (its < known.highest) destroySocket(other)
}

const numberOf = (timeline: string): number =>
  /^[0-9A-F]{8}$/.test(timeline) ? Number.parseInt(timeline, 16) : Number.NaN
