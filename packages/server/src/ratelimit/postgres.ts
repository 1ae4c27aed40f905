import type { Allowance } from '../platform/db/allowance.ts'
import type { Connection } from '../platform/db/connection.ts'
import { type Ask, type LaneObserver, openLane } from '../platform/db/lane.ts'
import { Refusal } from '../platform/refusal.ts'
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
import { type CounterStore, graceMs, mostCounters } from './store.ts'
import { type Subject, subjectName, subjectOf } from './subject.ts'
import { cellEnds, type Rule } from './window.ts'

/**
 * Counters in Postgres. What arrives together is one transaction: the rows of all subjects are locked, the clock is
 * read, the checks are folded here in the order of their arrival, and the rows that were charged are written. A caller
 * who is limited asks about the same row as ever, so a flood of one key costs one row a batch.
 *
 * It is not waited for the disk: after a crash of Postgres itself, the counts of less than a second are forgotten.
 */
export function openPostgresCounters(
  connection: Connection,
  observer: LaneObserver,
  rows: Allowance,
): CounterStore {
  const lane = openLane<Check, Tally | null>(
    connection,
    {
      name: 'ratelimit',
      // What may have been charged is not charged again.
      repeatable: false,
      settings: 'set synchronous_commit = off; set idle_in_transaction_session_timeout = 2000',
      converse: (ask, checks) => decide(ask, checks, rows),
      bytesOf: ({ rules }) => 192 + 192 * rules.length,
    },
    observer,
  )
  return {
    async check(check, until) {
      const tally = await lane.run(check, until)
      if (tally === null) throw new Refusal('counter_limit_reached')
      return tally
    },
    depth: lane.depth,
    nearestToLimit: rows.nearest,
    async close() {
      await lane.close()
      await rows.close()
    },
  }
}

/** A subject of a batch. */
interface Held {
  readonly name: string
  readonly subject: Subject
  /** Whether any check would charge it, and whether one did. */
  mayBeCharged: boolean
  isCharged: boolean
  /** Where its row stands while it is locked, and the counters in it. */
  place: string | null
  counters: Counters
  /** It was never charged: its workspace has no room for another row, or it has and the row is made. */
  isRefused: boolean
  isMade: boolean
}

/** What is held for a check, by the scopes of its rules. */
type Own = Partial<Record<Rule['scope'], Held>>

/** @returns null for a check that would need a row for which its workspace has no room. */
async function decide(ask: Ask, checks: readonly Check[], rows: Allowance): Promise<(Tally | null)[]> {
  const held = new Map<string, Held>()
  const owns = checks.map(check => hold(check, held))
  const now = await lock(ask, [...held.values()].toSorted(byName), rows)
  const tallies = checks.map((check, i) => {
    const own = owns[i] as Own
    if (check.cost > 0 && Object.values(own).some(({ isRefused }) => isRefused)) return null
    const tally = charge(check, scope => (own[scope] as Held).counters, now)
    if (tally.allowed && check.cost > 0) for (const one of Object.values(own)) one.isCharged = true
    return tally
  })
  const charged = [...held.values()].filter(({ isCharged }) => isCharged)
  if (charged.length === 0) {
    await ask(commit)
    return tallies
  }
  const [written = []] = await ask({ statement: writeCounters, values: rowsOf(charged, now) }, commit)
  if (written.length !== charged.length) throw new Refusal('unavailable')
  return tallies
}

function hold({ rules, cost, ...check }: Check, held: Map<string, Held>): Own {
  const own: Own = {}
  for (const { scope } of rules) {
    if (own[scope] !== undefined) continue
    const subject = subjectOf(check, scope)
    const name = subjectName(subject)
    let one = held.get(name)
    if (one === undefined) {
      one = {
        name,
        subject,
        mayBeCharged: false,
        isCharged: false,
        place: null,
        counters: [],
        isRefused: false,
        isMade: false,
      }
      held.set(name, one)
    }
    one.mayBeCharged ||= cost > 0
    own[scope] = one
  }
  return own
}

/** The order in which every process locks rows. */
const byName = (a: Held, b: Held) => (a.name < b.name ? -1 : 1)

/**
 * Locks the rows and reads what they hold. Those of subjects that were never charged are made first, and before any
 * lock is taken: two processes that make the same one wait for each other in one order only.
 */
async function lock(ask: Ask, held: readonly Held[], room: Allowance): Promise<number> {
  const take = { statement: lockCounters, values: keysOf(held) }
  let [, rows = [], at = []] = await ask(begin, take, time)
  for (let round = 0; ; round++) {
    for (const one of held) one.place = null
    for (const { nth, place, cells } of rows) {
      const one = held[Number(nth) - 1] as Held
      one.place = String(place)
      one.counters = (JSON.parse(String(cells)) as StoredCounter[]).map(toCounter)
    }
    const missing = held.filter(one => one.mayBeCharged && one.place === null && mayBeMade(one, room))
    if (missing.length === 0) return Number(at[0]?.now)
    // Somebody prunes as fast as this makes: no more of it.
    if (round === 3) throw new Refusal('unavailable')
    const open = { statement: openCounters, values: keysOf(missing) }
    ;[, , , rows = [], at = []] = await ask(rollback, begin, open, take, time)
  }
}

/** Asked in the first round alone, and noted there: who may be made is. */
function mayBeMade(one: Held, room: Allowance): boolean {
  if (one.isMade) return true
  const { workspaceId } = one.subject
  one.isRefused ||= !room.hasRoom(workspaceId, 1)
  if (one.isRefused) return false
  one.isMade = true
  room.add(workspaceId, 1)
  return true
}

const begin = { statement: beginCheck, values: [] }
const commit = { statement: commitCheck, values: [] }
const rollback = { statement: rollbackCheck, values: [] }
const time = { statement: readTime, values: [] }

/** As `rate_counters.cells` has them, in an array of JSON. */
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

function rowsOf(held: readonly Held[], now: number) {
  const kept = held.map(({ counters }) => {
    const live = counters.filter(counter => cellEnds(counter.cell, counter) > now - graceMs)
    if (live.length <= mostCounters) return live
    return live.toSorted((a, b) => cellEnds(b.cell, b) - cellEnds(a.cell, a)).slice(0, mostCounters)
  })
  return [
    held.map(({ place }) => place),
    held.map(({ subject }) => subject.workspaceId),
    kept.map(counters => JSON.stringify(counters.map(toStored))),
    kept.map(counters =>
      new Date(Math.max(...counters.map(one => cellEnds(one.cell, one))) + graceMs).toISOString(),
    ),
  ]
}

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
