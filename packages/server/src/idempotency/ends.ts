import type { Statement } from '../platform/db/connection.ts'
import type { Lane } from '../platform/db/lanes/lane.ts'
import type { Lanes } from '../platform/db/lanes/lanes.ts'
import type { Ask, Row } from '../platform/db/lanes/spec.ts'
import type { Completion } from './answer.ts'
import { type Held, keyColumns, keyValues, nameOfKey, toBytea } from './record.ts'
import { completeLargeRecord, completeRecords, extendLocks, releaseRecords } from './sql.ts'

type CompleteEnd = Held & { readonly kind: 'complete'; readonly completion: Completion }

/** What the holder of a record asks for: to complete it, to release it, or to extend its lock. */
export type End = CompleteEnd | (Held & { readonly kind: 'release' | 'heartbeat' })

/** `raced`: another transaction changes the record in the same moment, or has locked it. Ask again. */
export type Ending =
  | { readonly verdict: 'completed' | 'released' | 'lost' | 'raced' }
  | { readonly verdict: 'extended'; readonly lockedUntil: Date }

export type Ends = Lane<End, Ending>

export function openEnds(lanes: Lanes): Ends {
  return lanes.open<End, Ending>({
    name: 'idempotency_end',
    shares: 'writes',
    // A release that is sent twice would be answered `lost`.
    repeatable: false,
    converse: settle,
    bytesOf: end => 256 + (end.kind === 'complete' ? (end.completion.bytes ?? 0) : 0),
  })
}

/** The largest answer that is sent in an array with others. */
const arrayBytesMax = 4_096

interface Part {
  statement: Statement
  ends: readonly End[]
  values: readonly unknown[]
  read(rows: readonly Row[]): Ending[]
}

/**
 * Sends one statement for each kind of end in the batch, all in one write and one commit. No statement waits for a lock,
 * so that their order does not matter. A larger answer has its own statement, which takes it as bytes: in an array it
 * would be text that Postgres reads digit by digit.
 */
async function settle(ask: Ask, ends: readonly End[]): Promise<Ending[]> {
  const completed = ends.filter(end => end.kind === 'complete')
  const isSmall = ({ completion }: CompleteEnd) => (completion.bytes ?? 0) <= arrayBytesMax
  const parts = [
    completions(completed.filter(isSmall)),
    releases(ends.filter(end => end.kind === 'release')),
    extensions(ends.filter(end => end.kind === 'heartbeat')),
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

function completions(ends: readonly CompleteEnd[]): Part {
  const values = [
    ...heldColumns(ends),
    ends.map(({ completion }) => completion.status),
    ends.map(({ completion }) => completion.ttlMs),
    ends.map(({ completion }) => completion.bytes),
    ends.map(({ completion }) => completion.headers),
    ends.map(({ completion: { body } }) => (body === null ? null : toBytea(asBuffer(body).toString('hex')))),
  ]
  return {
    statement: completeRecords,
    ends,
    values,
    read: rows => readEndings(rows, ends.length, completing),
  }
}

function completionAlone(end: CompleteEnd): Part {
  return {
    statement: completeLargeRecord,
    ends: [end],
    values: largeValues(end, end.completion),
    read: rows => [readLarge(rows)],
  }
}

/** The parameters of `completeLargeRecord`. */
export const largeValues = (held: Held, { status, ttlMs, bytes, headers, body }: Completion): unknown[] => [
  ...keyValues(held),
  held.lockToken,
  status,
  ttlMs,
  bytes,
  headers,
  body === null ? null : asBuffer(body),
]
/** A view of the same memory: a Buffer that was sent from another thread arrives as a Uint8Array. */
const asBuffer = ({ buffer, byteOffset, byteLength }: Uint8Array) =>
  Buffer.from(buffer, byteOffset, byteLength)

export const readLarge = (rows: readonly Row[]): Ending => readEndings(rows, 1, completing)[0] ?? lost

function releases(ends: readonly End[]): Part {
  return {
    statement: releaseRecords,
    ends,
    values: heldColumns(ends),
    read: rows => readEndings(rows, ends.length, releasing),
  }
}

/** Heartbeats of one holder share a row, because a statement changes a row only once, and all are answered `extended`. */
function extensions(ends: readonly End[]): Part {
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
      const endings = readEndings(rows, shared.length, extending)
      return ends.map(end => endings[places.get(nameOfHeld(end)) ?? -1] ?? lost)
    },
  }
}

const nameOfHeld = (end: Held) => `${nameOfKey(end)} ${end.lockToken}`

const heldColumns = (ends: readonly Held[]) => [...keyColumns(ends), ends.map(({ lockToken }) => lockToken)]

const lost: Ending = { verdict: 'lost' }

/** The verdict of a kind of end: if it was done, and if the record had its answer already. */
interface Outcome {
  done(row: Row): Ending
  readonly ended: Ending
}

const completing: Outcome = {
  done: () => ({ verdict: 'completed' }),
  ended: { verdict: 'completed' },
}
const releasing: Outcome = { done: () => ({ verdict: 'released' }), ended: lost }
const extending: Outcome = {
  done: row => ({ verdict: 'extended', lockedUntil: row.locked_until as Date }),
  ended: lost,
}

/** Each row belongs to one place. It says that the end was done, or else how the record was found. */
function readEndings(rows: readonly Row[], count: number, { done, ended }: Outcome): Ending[] {
  const endings: Ending[] = Array.from({ length: count }, () => lost)
  for (const row of rows) {
    const place = Number(row.place) - 1
    if (row.done === true) endings[place] = done(row)
    else if (row.held === true) endings[place] = row.ended === true ? ended : { verdict: 'raced' }
  }
  return endings
}
