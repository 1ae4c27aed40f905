import type { Clock } from '../platform/clock.ts'
import type { Connection } from '../platform/db/connection.ts'
import { type LaneObserver, openLane } from '../platform/db/lane.ts'
import type { MakeId } from '../platform/ids.ts'
import type { NewEvent } from './event.ts'
import { type EventRow, writeEvents } from './sql.ts'
import { createTally } from './tally.ts'

/** Events outside of a transaction: what was refused, and what strangers asked for. */
export interface SecurityEvents {
  /** Notes what happened, for the store to hear a moment later. No request waits for it, and none fails by it. */
  note(event: NewEvent): void
  /** Writes what was noted so far; what the store does not take is tried again later. */
  flush(): Promise<void>
  /** Rows that wait for the store. */
  depth(): number
  close(): Promise<void>
}

export interface SecurityEventObserver extends LaneObserver {
  securityEventDropped(): void
}

/** From an event to its row, in ms; what comes meanwhile rides along. */
const flushMs = 1_000

export function openSecurityEvents(
  connection: Connection,
  clock: Clock,
  makeId: MakeId,
  observer: SecurityEventObserver,
): SecurityEvents {
  const tally = createTally(clock, makeId, () => observer.securityEventDropped())
  const lane = openLane<EventRow, null>(
    connection,
    {
      name: 'security_event',
      statement: writeEvents,
      repeatable: true,
      bytesOf: ({ details }) => 600 + JSON.stringify(details).length,
      values: rows => [
        rows.map(row => row.workspace_id),
        rows.map(row => row.id),
        rows.map(row => row.kind),
        rows.map(row => row.user_id),
        rows.map(row => row.actor_type),
        rows.map(row => row.actor_id),
        rows.map(row => row.ip),
        rows.map(row => row.user_agent),
        rows.map(row => row.count),
        rows.map(row => JSON.stringify(row.details)),
        rows.map(row => row.created_at),
        rows.map(row => row.last_at),
      ],
      answers: (_, rows) => rows.map(() => null),
    },
    observer,
  )
  let timer: NodeJS.Timeout | null = null
  let flushing: Promise<void> = Promise.resolve()

  const flushNow = async () => {
    await Promise.all(
      tally.unwritten().map(({ row, confirm }) =>
        // What the store does not take now is there at the next flush.
        lane.run(row).then(confirm, () => {}),
      ),
    )
  }
  const flush = () => {
    flushing = flushing.then(flushNow)
    return flushing
  }
  const arm = () => {
    timer ??= setTimeout(async () => {
      await flush()
      timer = null
      // The store was away, or more has come.
      if (tally.unwritten().length > 0) arm()
    }, flushMs).unref()
  }

  return {
    note(event) {
      tally.note(event)
      arm()
    },
    flush,
    depth: () => tally.unwritten().length,
    async close() {
      await flush()
      if (timer !== null) clearTimeout(timer)
      await lane.close()
    },
  }
}
