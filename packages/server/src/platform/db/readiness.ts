import { sql } from './connection.ts'
import type { Lanes } from './lanes.ts'
import { migrations } from './migrate.ts'
import { requireSame } from './timeline.ts'

/** Whether the database is a primary that answers, and its schema is at least the one that this code needs. */
export interface Readiness {
  /** @throws {Refusal} `unavailable` if the database cannot be reached within the deadline. */
  check(): Promise<'ready' | 'schema_behind'>
}

/** Several monitors send probes at once, so these share a lane like any hot read. */
const newest = sql(
  'db.newest_migration',
  'select max(name) as name, not pg_is_in_recovery() as same from keyrail_migrations',
)

export function openReadiness(lanes: Lanes): Readiness {
  const lane = lanes.open<null, boolean>({
    name: 'readiness',
    statement: newest,
    repeatable: true,
    values: () => [],
    answers(rows, items) {
      requireSame(rows[0])
      return items.map(() => String(rows[0]?.name ?? '') >= (migrations.at(-1) ?? ''))
    },
  })
  return { check: async () => ((await lane.run(null)) ? 'ready' : 'schema_behind') }
}
