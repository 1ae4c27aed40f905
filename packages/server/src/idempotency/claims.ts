import type { Lane } from '../platform/db/lanes/lane.ts'
import type { Lanes } from '../platform/db/lanes/lanes.ts'
import type { Row } from '../platform/db/lanes/spec.ts'
import { keyColumns, nameOfKey, type RecordKey, toBytea } from './record.ts'
import { claimRecords } from './sql.ts'
import { type Claimant, judge, type SeenRecord, type Verdict } from './verdict.ts'

/** A claim of a record. The caller draws the lock token for this claim alone; it takes effect if the claim wins. */
export interface Claim extends RecordKey, Claimant {
  readonly ttlMs: number
}

/** Null: another claim wrote the record in the same moment. Ask again. */
export type Claims = Lane<Claim, Verdict | null>

export function openClaims(lanes: Lanes): Claims {
  return lanes.open<Claim, Verdict | null>({
    name: 'idempotency_claim',
    shares: 'writes',
    statement: claimRecords,
    // A claim that won before its answer was lost finds its own token, and wins again.
    repeatable: true,
    values(claims) {
      const sent = sentOf(claims)
      return [
        ...keyColumns(sent),
        sent.map(({ fingerprint }) => toBytea(fingerprint)),
        sent.map(({ lockToken }) => lockToken),
        sent.map(({ ttlMs }) => ttlMs),
      ]
    },
    answers(rows, claims) {
      const found = readFound(rows, sentOf(claims))
      return claims.map(claim => {
        const { record, now } = found.get(nameOfKey(claim)) ?? nothingFound
        return judge(record, claim, now)
      })
    },
    bytesOf: () => 320,
  })
}

/**
 * The claims that are sent: the first of each record, in order. A statement cannot write one row twice, and the first is
 * the only claim of a batch that can win its record. The others are judged by what it has won.
 */
function sentOf(claims: readonly Claim[]): Claim[] {
  const first = new Map<string, Claim>()
  for (const claim of claims) {
    const name = nameOfKey(claim)
    if (!first.has(name)) first.set(name, claim)
  }
  return [...first.values()]
}

/** A record as the statement leaves it, and the store's time. */
interface Found {
  readonly record: SeenRecord | null
  readonly now: number
}

const nothingFound: Found = { record: null, now: 0 }

/** Reads the two kinds of rows that `claimRecords` returns. @returns what was found for each record, by its name. */
function readFound(rows: readonly Row[], sent: readonly Claim[]): Map<string, Found> {
  const lockedUntil = new Map<unknown, number>()
  for (const row of rows) if (row.place === null) lockedUntil.set(row.lock_token, toMillis(row.locked_until))
  const found = new Map<string, Found>()
  for (const row of rows) {
    const claim = sent[Number(row.place) - 1]
    if (claim === undefined) continue
    const won = lockedUntil.get(claim.lockToken)
    const record = won === undefined ? toRecord(row) : wonRecord(claim, won)
    found.set(nameOfKey(claim), { record, now: toMillis(row.now) })
  }
  return found
}

const wonRecord = ({ fingerprint, lockToken }: Claim, lockedUntil: number): SeenRecord => ({
  fingerprint,
  lockToken,
  lockedUntil,
  // The lock holds the record for so long, even if its time to live is shorter.
  expiresAt: lockedUntil,
  status: null,
  answerBytes: null,
})

/** @returns null where the claim found no record. */
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
