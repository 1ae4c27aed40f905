import type { Allowance } from '../platform/db/lanes/allowance.ts'
import type { Lanes } from '../platform/db/lanes/lanes.ts'
import type { Ask, Row } from '../platform/db/lanes/spec.ts'
import * as control from '../platform/db/pool/transaction-control.ts'
import { Refusal } from '../platform/refusal.ts'
import { type Check, type Counters, charge, type Tally } from './fold.ts'
import { lockCounters, openCounters, readTime, writeCounters } from './sql.ts'
import type { CounterStore } from './store.ts'
import { type LockedRow, readCells, rowColumns, subjectColumns } from './stored-counters.ts'
import { type Subject, subjectName, subjectOf } from './subject.ts'
import type { Rule } from './window.ts'

/**
 * Counters in Postgres. Checks that arrive together are decided in one transaction: it locks the rows of all subjects, reads
 * the clock, charges the checks in the order of their arrival, and writes the rows that were charged. The row of a key is
 * written once, however many checks of the batch are about the key.
 *
 * The commit does not wait for the disk. A crash of Postgres itself loses the counts of less than a second.
 */
export function openPostgresCounters(lanes: Lanes, allowance: Allowance): CounterStore {
  const lane = lanes.open<Check, Tally | null>({
    name: 'ratelimit',
    // A check whose answer was lost may have been charged, and is not charged again.
    repeatable: false,
    settings: 'set synchronous_commit = off; set idle_in_transaction_session_timeout = 2000',
    converse: (ask, checks) => decide(ask, checks, allowance),
    bytesOf: ({ rules }) => 192 + 192 * rules.length,
  })
  return {
    async check(check, deadline) {
      const tally = await lane.run(check, deadline)
      if (tally === null) throw new Refusal('counter_limit_reached')
      return tally
    },
    nearestToLimit: () => allowance.nearest(),
    close: () => allowance.close(),
  }
}

/** A subject of a batch. Its row is locked while the batch is decided. */
interface BatchSubject {
  readonly name: string
  readonly subject: Subject
  /** Whether a check of the batch has a cost. A check of cost 0 only looks, and needs no row. */
  mayBeCharged: boolean
  /** Whether a check that passed has charged it. */
  isCharged: boolean
  /** The `ctid` of the subject's row, which is valid while the row is locked; null while there is no row. */
  place: string | null
  counters: Counters
  /** Whether the project has space for a missing row; null until the allowance was asked. */
  newRow: 'allowed' | 'refused' | null
}

/** The subjects of one check, by the scopes of its rules. */
type SubjectsByScope = Partial<Record<Rule['scope'], BatchSubject>>

/** @returns null for a check that needs a new row for which its project has no space. */
async function decide(ask: Ask, checks: readonly Check[], allowance: Allowance): Promise<(Tally | null)[]> {
  const batch = new Map<string, BatchSubject>()
  const subjectsOf = checks.map(check => addSubjects(check, batch))
  // Every process locks rows in this order, so that no two processes wait for each other in a circle.
  const subjects = [...batch.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1))
  const now = await lockRows(ask, subjects, allowance)
  const tallies = checks.map((check, i) => chargeSubjects(check, subjectsOf[i] ?? {}, now))
  await writeAndCommit(ask, [...batch.values()], now)
  return tallies
}

function addSubjects({ rules, cost, ...check }: Check, batch: Map<string, BatchSubject>): SubjectsByScope {
  const own: SubjectsByScope = {}
  for (const { scope } of rules) {
    if (own[scope] !== undefined) continue
    const subject = subjectOf(check, scope)
    const name = subjectName(subject)
    const known = batch.get(name) ?? newSubject(name, subject)
    known.mayBeCharged ||= cost > 0
    batch.set(name, known)
    own[scope] = known
  }
  return own
}

const newSubject = (name: string, subject: Subject): BatchSubject => ({
  name,
  subject,
  mayBeCharged: false,
  isCharged: false,
  place: null,
  counters: [],
  newRow: null,
})

function chargeSubjects(check: Check, subjects: SubjectsByScope, now: number): Tally | null {
  const own = Object.values(subjects)
  const isCharge = check.cost > 0
  if (isCharge && own.some(({ newRow }) => newRow === 'refused')) return null
  const tally = charge(check, scope => (subjects[scope] as BatchSubject).counters, now)
  if (tally.allowed && isCharge) for (const subject of own) subject.isCharged = true
  return tally
}

/** How often rows are made again that another process has pruned before this one locked them. */
const roundsMax = 3

/**
 * Begins the transaction, locks the rows and reads their counters.
 *
 * If rows are missing, the transaction is rolled back, and a new one makes them before it locks any row. So two processes that
 * make the same rows wait for each other in one order only.
 * @returns the store's time, read after the locks: a transaction that has waited must not use the time from before.
 */
async function lockRows(ask: Ask, subjects: readonly BatchSubject[], allowance: Allowance): Promise<number> {
  const lock = { statement: lockCounters, values: columnsOf(subjects) }
  let [, rows = [], times = []] = await ask(begin, lock, time)
  for (let round = 0; ; round++) {
    readRows(rows, subjects)
    const missing = subjects.filter(
      subject => subject.mayBeCharged && subject.place === null && mayMakeRow(subject, allowance),
    )
    if (missing.length === 0) return Number(times[0]?.now)
    if (round === roundsMax) throw new Refusal('unavailable')
    const make = { statement: openCounters, values: columnsOf(missing) }
    ;[, , , rows = [], times = []] = await ask(rollback, begin, make, lock, time)
  }
}

/** Reads the answer of `lockCounters`. Rows of an earlier round are no longer locked, and are forgotten. */
function readRows(rows: readonly Row[], subjects: readonly BatchSubject[]): void {
  for (const subject of subjects) subject.place = null
  for (const { nth, place, cells } of rows) {
    const subject = subjects[Number(nth) - 1] as BatchSubject
    subject.place = String(place)
    subject.counters = readCells(String(cells))
  }
}

/** Asks the allowance once for each subject, so that a row that is made again in a later round is not counted twice. */
function mayMakeRow(held: BatchSubject, allowance: Allowance): boolean {
  if (held.newRow === null) {
    held.newRow = allowance.hasQuota(held.subject, 1) ? 'allowed' : 'refused'
    if (held.newRow === 'allowed') allowance.add(held.subject, 1)
  }
  return held.newRow === 'allowed'
}

async function writeAndCommit(ask: Ask, subjects: readonly BatchSubject[], now: number): Promise<void> {
  const charged = subjects.filter((subject): subject is BatchSubject & LockedRow => subject.isCharged)
  if (charged.length === 0) {
    await ask(commit)
    return
  }
  const write = { statement: writeCounters, values: rowColumns(charged, now) }
  const [written = []] = await ask(write, commit)
  if (written.length !== charged.length) throw new Refusal('unavailable')
}

const columnsOf = (subjects: readonly BatchSubject[]) =>
  subjectColumns(subjects.map(({ subject }) => subject))

const begin = { statement: control.begin, values: [] }
const commit = { statement: control.commit, values: [] }
const rollback = { statement: control.rollback, values: [] }
const time = { statement: readTime, values: [] }
