import type { degradations } from '@keyrail/contract/health'
import type { Clock } from '../../clock.ts'
import { sql } from '../connection.ts'
import type { Lanes } from '../lanes/lanes.ts'
import { migrations } from '../migrate/migrate.ts'
import { requireSame } from './timeline.ts'

type Degradation = (typeof degradations)[number]

/** Whether the database is a primary that answers, and its schema is at least the one that this code needs. */
export interface Readiness {
  /** @throws {Refusal} `unavailable` if the database cannot be reached within the deadline. */
  check(): Promise<'ready' | 'schema_behind' | Degradation>
  /** The degradation that the last check found, and with which the service still serves. */
  degraded(): Degradation | null
}

/** Several monitors send probes at once, so probes share a lane like any hot read. */
const newest = sql(
  'db.newest_migration',
  `select max(name) as name, current_setting('synchronous_standby_names') <> '' as confirms,
     not pg_is_in_recovery() as same
   from keyrail_migrations`,
)

/** The commit of this statement waits for the synchronous standby, as the commit of every change. */
const confirmed = sql('db.confirmed', `select pg_logical_emit_message(true, 'keyrail', '')`)

/** Each look writes to the log of Postgres, and anyone may cause one, so a result is reused for this time. Milliseconds. */
const lookMs = 5_000
/** A result older than this is not used. */
const staleMs = 3 * lookMs

export function openReadiness(lanes: Lanes, clock: Pick<Clock, 'monotonic'>): Readiness {
  const schema = lanes.open<null, { isNewEnough: boolean; confirms: boolean }>({
    name: 'readiness',
    shares: 'reads',
    statement: newest,
    repeatable: true,
    values: () => [],
    answers([row], items) {
      requireSame(row)
      const isNewEnough = String(row?.name ?? '') >= (migrations.at(-1) ?? '')
      return items.map(() => ({ isNewEnough, confirms: row?.confirms === true }))
    },
  })
  const confirmation = lanes.open<null, null>({
    name: 'confirmation',
    shares: 'writes',
    statement: confirmed,
    repeatable: true,
    values: () => [],
    answers: (_, items) => items.map(() => null),
  })

  let known: { atMs: number; isConfirmed: boolean } | null = null
  let looking: Promise<void> | null = null
  const look = async () => {
    const isConfirmed = await confirmation.run(null).then(
      () => true,
      () => false,
    )
    known = { atMs: clock.monotonic(), isConfirmed }
  }
  const ageMs = () => (known === null ? Number.POSITIVE_INFINITY : clock.monotonic() - known.atMs)
  /** Waits only if there is no recent result: a probe has less time than a commit that gets no answer. */
  const isConfirmed = async (): Promise<boolean> => {
    if (ageMs() >= lookMs)
      looking ??= look().finally(() => {
        looking = null
      })
    if (ageMs() >= staleMs) await looking
    return known?.isConfirmed !== false
  }
  return {
    async check() {
      const { isNewEnough, confirms } = await schema.run(null)
      if (!isNewEnough) return 'schema_behind'
      if (confirms) return (await isConfirmed()) ? 'ready' : 'standby_away'
      known = null
      return 'ready'
    },
    degraded: () => (known?.isConfirmed === false ? 'standby_away' : null),
  }
}
