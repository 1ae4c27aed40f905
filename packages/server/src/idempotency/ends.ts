import type { Connection, Statement } from '../platform/db/connection.ts'
import { type Ask, type Lane, type LaneObserver, openLane, type Row } from '../platform/db/lane.ts'
import type { Completion } from './answer.ts'
import { type Held, keyColumns, nameOfKey } from './record.ts'
import { completeLargeRecord, completeRecords, extendLocks, releaseRecords } from './sql.ts'

type CompleteEnd = Held & { readonly kind: 'complete'; readonly completion: Completion }

/** What the holder of a record says of it. */
export type End = CompleteEnd | (Held & { readonly kind: 'release' | 'heartbeat' })

/** `raced`: something else happened to the record in the same moment. Ask again. */
export type Ending =
  | { readonly verdict: 'completed' | 'released' | 'lost' | 'raced' }
  | { readonly verdict: 'extended'; readonly lockedUntil: Date }

export type Ends = Lane<End, Ending>

export function openEnds(connection: Connection, observer: LaneObserver): Ends {
  return openLane<End, Ending>(
    connection,
    {
      name: 'idempotency_end',
      // Released twice, a record would be told as lost.
      repeatable: false,
      converse: settle,
      bytesOf: end => 256 + (end.kind === 'complete' ? (end.completion.bytes ?? 0) : 0),
    },
    observer,
  )
}

/** Of an answer that goes into an array of answers. */
const arrayBytesMax = 4_096

interface Part {
  statement: Statement
  ends: readonly End[]
  values: readonly unknown[]
  read(rows: readonly Row[]): Ending[]
}

/**
 * One statement for each kind of end that is there, all of them in one write and one commit. An answer of some size has
 * its own, to which it goes as bytes: as text in an array Postgres would read it digit by digit.
 */
async function settle(ask: Ask, ends: readonly End[]): Promise<Ending[]> {
  const ordered = ends.toSorted((a, b) => (nameOfKey(a) < nameOfKey(b) ? -1 : 1))
  const completed = ordered.filter(end => end.kind === 'complete')
  const isSmall = ({ completion }: CompleteEnd) => (completion.bytes ?? 0) <= arrayBytesMax
  const parts = [
    completions(completed.filter(isSmall)),
    releases(ordered),
    extensions(ordered),
    ...completed.filter(end => !isSmall(end)).map(completionAlone),
  ].filter(part => part.ends.length > 0)
  const rows = await ask(...parts)
  const endings = new Map<End, Ending>()
  parts.forEach((part, i) => {
    const read = part.read(rows[i] ?? [])
    part.ends.forEach((end, place) => {
      endings.set(end, read[place] ?? lost)
    })
  })
  return ends.map(end => endings.get(end) ?? lost)
}

const lost: Ending = { verdict: 'lost' }

function completions(ends: readonly CompleteEnd[]): Part {
  const values = [
    ...heldColumns(ends),
    ends.map(({ completion }) => completion.status),
    ends.map(({ completion }) => completion.ttlMs),
    ends.map(({ completion }) => completion.bytes),
    ends.map(({ completion }) => completion.headers),
    ends.map(({ completion }) => (completion.body === null ? null : `\\x${completion.body.toString('hex')}`)),
  ]
  return { statement: completeRecords, ends, values, read: rows => readCompletions(rows, ends.length) }
}

function completionAlone(end: CompleteEnd): Part {
  const { status, ttlMs, bytes, headers, body } = end.completion
  return {
    statement: completeLargeRecord,
    ends: [end],
    values: [...heldValues(end), status, ttlMs, bytes, headers, body],
    read: rows => readCompletions(rows, 1),
  }
}

/** The record of a statement that is about one alone. */
export const heldValues = ({ workspaceId, env, scopeHash, lockToken }: Held) => [
  workspaceId,
  env,
  Buffer.from(scopeHash, 'hex'),
  lockToken,
]

/** Two rows of one place where it was done: how the record was found, and that it has its answer now. */
export function readCompletions(rows: readonly Row[], count: number): Ending[] {
  const verdicts: ('completed' | 'lost' | 'raced')[] = Array.from({ length: count }, () => 'lost')
  for (const { place, held, ended, done } of rows) {
    const i = Number(place) - 1
    if (done === true) verdicts[i] = 'completed'
    else if (held === true && verdicts[i] === 'lost') verdicts[i] = ended === true ? 'completed' : 'raced'
  }
  return verdicts.map(verdict => ({ verdict }))
}

function releases(all: readonly End[]): Part {
  const ends = all.filter(end => end.kind === 'release')
  return {
    statement: releaseRecords,
    ends,
    values: heldColumns(ends),
    read: rows => atPlaces(rows, ends.length, () => ({ verdict: 'released' })),
  }
}

/** A statement changes a row once, and of two heartbeats at once neither is lost: they share one. */
function extensions(all: readonly End[]): Part {
  const ends = all.filter(end => end.kind === 'heartbeat')
  const places = new Map<string, number>()
  const shared = ends.filter(end => {
    const isFirst = !places.has(nameOfHeld(end))
    if (isFirst) places.set(nameOfHeld(end), places.size)
    return isFirst
  })
  return {
    statement: extendLocks,
    ends,
    values: heldColumns(shared),
    read(rows) {
      const endings = atPlaces(rows, shared.length, row => ({
        verdict: 'extended',
        lockedUntil: row.locked_until as Date,
      }))
      return ends.map(end => endings[places.get(nameOfHeld(end)) ?? -1] ?? lost)
    },
  }
}

const nameOfHeld = (end: Held) => `${nameOfKey(end)} ${end.lockToken}`

const heldColumns = (ends: readonly Held[]) => [...keyColumns(ends), ends.map(({ lockToken }) => lockToken)]

function atPlaces(rows: readonly Row[], count: number, read: (row: Row) => Ending): Ending[] {
  const endings: Ending[] = Array.from({ length: count }, () => lost)
  for (const row of rows) endings[Number(row.place) - 1] = read(row)
  return endings
}
