import { type Connection, sql } from './connection.ts'
import { type LaneObserver, openLane } from './lane.ts'
import { migrations } from './migrate.ts'
import { requireSame } from './timeline.ts'

/** Whether the store is a primary that answers, and its schema at least the one that this code was written for. */
export interface Readiness {
  /** @throws {Refusal} `unavailable` when the store cannot be reached within the deadline. */
  check(): Promise<'ready' | 'schema_behind'>
  close(): Promise<void>
}

/** Probes come from several watchers at once, so they share a lane like any hot read. */
const newest = sql(
  'db.newest_migration',
  'select max(name) as name, not pg_is_in_recovery() as same from keyrail_migrations',
)

export function openReadiness(connection: Connection, observer: LaneObserver): Readiness {
  const lane = openLane<null, boolean>(
    connection,
    {
      name: 'readiness',
      statement: newest,
      repeatable: true,
      values: () => [],
      answers(rows, items) {
        requireSame(rows[0])
        return items.map(() => String(rows[0]?.name ?? '') >= (migrations.at(-1) ?? ''))
      },
    },
    observer,
  )
  return {
    check: async () => ((await lane.run(null)) ? 'ready' : 'schema_behind'),
    close: () => lane.close(),
  }
}
