import { type Chore, untilNone } from '../platform/db/upkeep.ts'
import { pruneSessionRows } from './session-sql.ts'
import { pruneTokenRows } from './sql.ts'

/** Deletes ended sessions, and used or expired mail tokens, after thirty days. */
export const pruneSessions: Chore = {
  name: 'ended sessions',
  run: client => untilNone(async () => (await client.query(pruneSessionRows)).rowCount ?? 0),
}
export const pruneTokens: Chore = {
  name: 'mailed tokens',
  run: client => untilNone(async () => (await client.query(pruneTokenRows)).rowCount ?? 0),
}
