import { type Chore, untilNone } from '../platform/db/upkeep.ts'
import { removeBodies, removeClaims, removeStoredBytes } from './sql.ts'

const claimsAtOnce = 1_000
/** A large body is some thousand rows of the store's own. */
const bodiesAtOnce = 50

/** Records that are over. A claim of one that goes in this very moment waits for its batch, some milliseconds. */
export const pruneClaims: Chore = {
  name: 'idempotency records',
  run: client =>
    untilNone(async () => (await client.query({ ...removeClaims, values: [claimsAtOnce] })).rowCount ?? 0),
}

/** Their answers, which nobody waits for. */
export const pruneBodies: Chore = {
  name: 'idempotency answers',
  run: client =>
    untilNone(async () => (await client.query({ ...removeBodies, values: [bodiesAtOnce] })).rowCount ?? 0),
}

/** How much was stored until an hour that is over. */
export const pruneStoredBytes: Chore = {
  name: 'bytes of idempotency answers',
  run: client =>
    untilNone(
      async () => (await client.query({ ...removeStoredBytes, values: [claimsAtOnce] })).rowCount ?? 0,
    ),
}
