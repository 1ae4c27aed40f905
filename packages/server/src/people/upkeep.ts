import { type Chore, untilNone } from '../platform/db/upkeep.ts'
import { pruneSessionRows, pruneTokenRows } from './sql.ts'

/** Sessions that have ended, and mailed tokens that are used or expired, go after thirty days. */
export const pruneSessions: Chore = {
  name: 'ended sessions',
  run: client => untilNone(async () => (await client.query(pruneSessionRows)).rowCount ?? 0),
}
export const pruneTokens: Chore = {
  name: 'mailed tokens',
  run: client => untilNone(async () => (await client.query(pruneTokenRows)).rowCount ?? 0),
}
