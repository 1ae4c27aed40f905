import type { Connection } from '../platform/db/connection.ts'
import { type Lane, type LaneObserver, openLane, type Row } from '../platform/db/lane.ts'
import { keyColumns, nameOfKey, type RecordKey, toBytea } from './record.ts'
import { claimRecords } from './sql.ts'
import { type Claimant, judge, type SeenRecord, type Verdict } from './verdict.ts'

/** A request for a record. The token is drawn for it alone, and is not in use unless it wins. */
export interface Claim extends RecordKey, Claimant {
  readonly ttlMs: number
}

/** Null: another claim was at the record in the same moment. Ask again. */
export type Claims = Lane<Claim, Verdict | null>

export function openClaims(connection: Connection, observer: LaneObserver): Claims {
  return openLane<Claim, Verdict | null>(
    connection,
    {
      name: 'idempotency_claim',
      statement: claimRecords,
      // A claim that has won knows its own token again.
      repeatable: true,
      values(claims) {
        const first = [...firstOfEach(claims).values()]
        return [
          ...keyColumns(first),
          first.map(({ fingerprint }) => toBytea(fingerprint)),
          first.map(({ lockToken }) => lockToken),
          first.map(({ ttlMs }) => ttlMs),
        ]
      },
      answers: verdictsOf,
      bytesOf: () => 320,
    },
    observer,
  )
}

/** A statement cannot write one row twice, and of several claims of one record only the first can win. */
function firstOfEach(claims: readonly Claim[]): Map<string, Claim> {
  const first = new Map<string, Claim>()
  for (const claim of claims) {
    const name = nameOfKey(claim)
    if (!first.has(name)) first.set(name, claim)
  }
  return first
}

/** Every claim is judged by its record as the statement has left it: the others of a batch by what the first has won. */
function verdictsOf(rows: readonly Row[], claims: readonly Claim[]): (Verdict | null)[] {
  const lockedUntil = new Map<unknown, number>()
  for (const row of rows) if (row.place === null) lockedUntil.set(row.lock_token, toMillis(row.locked_until))
  const first = [...firstOfEach(claims)]
  const found = new Map<string, { record: SeenRecord | null; now: number }>()
  for (const row of rows) {
    const [name, claim] = first[Number(row.place) - 1] ?? []
    if (name === undefined || claim === undefined) continue
    const won = lockedUntil.get(claim.lockToken)
    const record = won === undefined ? toRecord(row) : recordOf(claim, won)
    found.set(name, { record, now: toMillis(row.now) })
  }
  return claims.map(claim => {
    const { record = null, now = 0 } = found.get(nameOfKey(claim)) ?? {}
    return judge(record, claim, now)
  })
}

const recordOf = ({ fingerprint, lockToken }: Claim, lockedUntil: number): SeenRecord => ({
  fingerprint,
  lockToken,
  lockedUntil,
  // It is executed until then, whenever it expires.
  expiresAt: lockedUntil,
  status: null,
  answerBytes: null,
})

const toRecord = (row: Row): SeenRecord | null =>
  row.lock_token === null
    ? null
    : {
        fingerprint: String(row.fingerprint),
        lockToken: String(row.lock_token),
        lockedUntil: toMillis(row.locked_until),
        expiresAt: toMillis(row.expires_at),
        status: row.status === null ? null : Number(row.status),
        answerBytes: row.answer_bytes === null ? null : Number(row.answer_bytes),
      }

const toMillis = (time: unknown): number => (time as Date).getTime()
