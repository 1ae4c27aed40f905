import type { Clock } from '../platform/clock.ts'
import type { Lanes } from '../platform/db/lanes/lanes.ts'
import type { MakeId } from '../platform/ids.ts'
import type { NewEvent } from './event.ts'
import { type EventRow, writeEvents } from './sql.ts'
import { createTally } from './tally.ts'

/** Events outside of a transaction: refusals, and requests without authentication. */
export interface SecurityEvents {
  /** Buffers an event, which is written a moment later. It delays and fails no request. */
  note(event: NewEvent): void
  /** Writes the buffered events; those that the database does not accept are retried later. */
  flush(): Promise<void>
  /** Rows that wait for the database. */
  depth(): number
  close(): Promise<void>
}

export interface SecurityEventObserver {
  securityEventDropped(): void
}

/** From an event to its row, in ms; further events in that time share the write. */
const flushMs = 1_000

export function openSecurityEvents(
  lanes: Lanes,
  clock: Clock,
  makeId: MakeId,
  observer: SecurityEventObserver,
  processes = 1,
): SecurityEvents {
  const tally = createTally(clock, makeId, () => observer.securityEventDropped(), processes)
  const lane = lanes.open<EventRow, null>({
    name: 'security_event',
    shares: 'writes',
    statement: writeEvents,
    repeatable: true,
    // Those that the store did not take wait there too.
    depth: () => tally.unwritten().length,
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
  })
  let timer: NodeJS.Timeout | null = null
  let flushing: Promise<void> = Promise.resolve()

  const flushNow = async () => {
    await Promise.all(
      tally.unwritten().map(({ row, confirm }) =>
        // A row that the database rejects now is retried at the next flush.
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
      // The database was unavailable, or more events came.
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
    },
  }
}
