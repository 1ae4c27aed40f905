import type { Statement } from '../platform/db/connection.ts'
import { type Chore, untilNone } from '../platform/db/upkeep.ts'
import { removeBodies, removeClaims, removeOldStoredBytes, removeStoredBytes } from './sql.ts'

const claimsAtOnce = 1_000
/** A large body takes some thousand rows of a TOAST table. */
const bodiesAtOnce = 50

/** Deletes records that are over. A claim of such a record waits some milliseconds, until its batch is deleted. */
export const pruneClaims: Chore = {
  name: 'idempotency records',
  run: client =>
    untilNone(async () => (await client.query({ ...removeClaims, values: [claimsAtOnce] })).rowCount ?? 0),
}

/** Deletes answers that have expired. No claim reads them, so none waits. */
export const pruneBodies: Chore = {
  name: 'idempotency answers',
  run: client =>
    untilNone(async () => (await client.query({ ...removeBodies, values: [bodiesAtOnce] })).rowCount ?? 0),
}

/** Deletes the counts of hours that are over. */
export const pruneStoredBytes: Chore = {
  name: 'bytes of idempotency answers',
  async run(client) {
    const remove = (statement: Statement) =>
      untilNone(async () => (await client.query({ ...statement, values: [claimsAtOnce] })).rowCount ?? 0)
    return (await remove(removeStoredBytes)) + (await remove(removeOldStoredBytes))
  },
}
