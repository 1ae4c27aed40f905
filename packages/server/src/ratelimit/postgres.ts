import type { Connection } from '../platform/db/connection.ts'
import { type Ask, type LaneObserver, openLane } from '../platform/db/lane.ts'
import { type Check, type Counter, type Counters, charge, type Tally } from './fold.ts'
import {
  beginCheck,
  commitCheck,
  lockCounters,
  openCounters,
  readTime,
  rollbackCheck,
  writeCounters,
} from './sql.ts'
import type { CounterStore } from './store.ts'
import { type Subject, subjectName, subjectOf, subjectsOf } from './subject.ts'
import { cellEnds, type Rule } from './window.ts'

/**
 * Counters in Postgres. What arrives together is one transaction: the rows of all subjects are locked, the clock is
 * read, the checks are folded here in the order of their arrival, and the rows that were charged are written. A caller
 * who is limited asks about the same row as ever, so a flood of one key costs one row a batch.
 *
 * It is not waited for the disk: after a crash of Postgres itself, the counts of less than a second are forgotten.
 */
export function openPostgresCounters(connection: Connection, observer: LaneObserver): CounterStore {
  const lane = openLane<Check, Tally>(
    connection,
    {
      name: 'ratelimit',
      // What may have been charged is not charged again.
      repeatable: false,
      settings: 'set synchronous_commit = off; set idle_in_transaction_session_timeout = 2000',
      converse: decide,
      bytesOf: ({ rules }) => 192 + 192 * rules.length,
    },
    observer,
  )
  return { check: lane.run, depth: lane.depth, close: lane.close }
}

/** A subject of a batch: its counters as they were locked, whether any check would charge them, and whether one did. */
interface Held {
  subject: Subject
  counters: Counters
  mayBeCharged: boolean
  isCharged: boolean
}

async function decide(ask: Ask, checks: readonly Check[]): Promise<Tally[]> {
  const held = subjectsInOrder(checks)
  const now = await lock(ask, held)
  const tallies = checks.map(check => {
    const own = heldOf(check, held)
    const tally = charge(check, scope => (own[scope] as Held).counters, now)
    if (tally.allowed && check.cost > 0) for (const one of Object.values(own)) one.isCharged = true
    return tally
  })
  const charged = [...held.values()].filter(({ isCharged }) => isCharged)
  if (charged.length === 0) await ask(commit)
  else await ask({ statement: writeCounters, values: rowsOf(charged, now) }, commit)
  return tallies
}

/** What is held for a check, by the scopes of its rules. */
function heldOf(check: Check, held: ReadonlyMap<string, Held>): Partial<Record<Rule['scope'], Held>> {
  const own: Partial<Record<Rule['scope'], Held>> = {}
  for (const { scope } of check.rules) own[scope] ??= held.get(subjectName(subjectOf(check, scope))) as Held
  return own
}

/** In the order of their names, in which every process locks them. */
function subjectsInOrder(checks: readonly Check[]): Map<string, Held> {
  const held = new Map<string, Held>()
  for (const check of checks) {
    for (const subject of subjectsOf(check)) {
      const name = subjectName(subject)
      const known = held.get(name)
      if (known === undefined)
        held.set(name, { subject, counters: [], mayBeCharged: check.cost > 0, isCharged: false })
      else known.mayBeCharged ||= check.cost > 0
    }
  }
  return new Map([...held].toSorted(([a], [b]) => (a < b ? -1 : 1)))
}

/**
 * Locks the rows and reads what they hold. Those of subjects that were never charged are made first, and before any
 * lock is taken: two processes that make the same one wait for each other in one order only.
 */
async function lock(ask: Ask, held: ReadonlyMap<string, Held>): Promise<number> {
  const all = [...held.values()]
  const take = { statement: lockCounters, values: keysOf(all) }
  let [, rows = [], at = []] = await ask(begin, take, time)
  for (let round = 0; ; round++) {
    const found = new Set(rows.map(({ place }) => all[Number(place) - 1]))
    const missing = all.filter(one => one.mayBeCharged && !found.has(one))
    if (missing.length === 0) break
    // Somebody prunes as fast as this makes: no more of it.
    if (round === 3) throw new Error('counters vanish while they are made')
    const open = { statement: openCounters, values: keysOf(missing) }
    ;[, , , rows = [], at = []] = await ask(rollback, begin, open, take, time)
  }
  for (const { place, cells } of rows) {
    const { counters } = all[Number(place) - 1] as Held
    for (const [id, algorithm, window_ms, start, previous, current] of cells as StoredCounter[]) {
      counters.push({ id, algorithm, window_ms, cell: { start, previous, current } })
    }
  }
  return Number(at[0]?.now)
}

const begin = { statement: beginCheck, values: [] }
const commit = { statement: commitCheck, values: [] }
const rollback = { statement: rollbackCheck, values: [] }
const time = { statement: readTime, values: [] }

/** As `rate_counters.cells` has them, in an array. */
type StoredCounter = [
  id: string,
  algorithm: Rule['algorithm'],
  window_ms: number,
  start: number,
  previous: number,
  current: number,
]

const keysOf = (held: readonly Held[]) => [
  held.map(({ subject }) => subject.workspaceId),
  held.map(({ subject }) => subject.projectId),
  held.map(({ subject }) => subject.env),
  held.map(({ subject }) => subject.kind),
  held.map(({ subject }) => subject.id),
]

/**
 * Counters that a row may hold. A caller who asks about more of them for one subject, which takes as many rules in the
 * span of their windows, is forgiven those that end first.
 */
const mostCounters = 256

function rowsOf(held: readonly Held[], now: number) {
  const kept = held.map(({ counters }) => {
    const live = counters.filter(counter => cellEnds(counter.cell, counter) > now)
    if (live.length <= mostCounters) return live
    return live.toSorted((a, b) => cellEnds(b.cell, b) - cellEnds(a.cell, a)).slice(0, mostCounters)
  })
  return [
    ...keysOf(held),
    kept.map(counters => JSON.stringify(counters.map(toStored))),
    kept.map(counters => new Date(Math.max(...counters.map(one => cellEnds(one.cell, one)))).toISOString()),
  ]
}

const toStored = ({
  id,
  algorithm,
  window_ms,
  cell: { start, previous, current },
}: Counter): StoredCounter => [id, algorithm, window_ms, start, previous, current]
