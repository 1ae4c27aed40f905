import type { Counter, Counters } from './fold.ts'
import { graceMs, mostCounters } from './store.ts'
import type { Subject } from './subject.ts'
import { cellEnds, type Rule } from './window.ts'

/** The form in which Postgres keeps counters: `rate_counters.cells` is a JSON array of this tuple. */
type StoredCounter = [
  id: string,
  algorithm: Rule['algorithm'],
  window_ms: number,
  start: number,
  previous: number,
  current: number,
]

/** A locked row that is to be written. `place` is its `ctid`. */
export interface LockedRow {
  readonly place: string
  readonly subject: Subject
  readonly counters: Counters
}

export const readCells = (cells: string): Counters => (JSON.parse(cells) as StoredCounter[]).map(toCounter)

/** The parameters that name subjects, as `sql.ts` takes them. */
export const subjectColumns = (subjects: readonly Subject[]): unknown[][] => [
  subjects.map(({ workspaceId }) => workspaceId),
  subjects.map(({ projectId }) => projectId),
  subjects.map(({ env }) => env),
  subjects.map(({ kind }) => kind),
  subjects.map(({ id }) => id),
]

/** The parameters of `writeCounters`. Counters that no longer count are left out. */
export function rowColumns(rows: readonly LockedRow[], now: number): unknown[][] {
  const kept = rows.map(({ counters }) => keptOf(counters, now))
  return [
    rows.map(({ place }) => place),
    rows.map(({ subject }) => subject.workspaceId),
    kept.map(counters => JSON.stringify(counters.map(toStored))),
    kept.map(counters => new Date(Math.max(...counters.map(endOf)) + graceMs).toISOString()),
  ]
}

/** Counters that still count; if there are too many, the ones that end last. */
function keptOf(counters: Counters, now: number): Counters {
  const live = counters.filter(counter => endOf(counter) > now - graceMs)
  if (live.length <= mostCounters) return live
  return live.toSorted((a, b) => endOf(b) - endOf(a)).slice(0, mostCounters)
}

const endOf = (counter: Counter): number => cellEnds(counter.cell, counter)

const toCounter = ([id, algorithm, window_ms, start, previous, current]: StoredCounter): Counter => ({
  id,
  algorithm,
  window_ms,
  cell: { start, previous, current },
})

const toStored = ({
  id,
  algorithm,
  window_ms,
  cell: { start, previous, current },
}: Counter): StoredCounter => [id, algorithm, window_ms, start, previous, current]
