import { type Chore, untilNone } from '../platform/db/upkeep.ts'
import { pruneCrowdedSessionRows, pruneSessionRows } from './session-sql.ts'
import { pruneTokenRows } from './sql.ts'

/** Deletes ended sessions after thirty days, those of a person with a thousand newer ones at once; and used or expired mail tokens. */
export const pruneSessions: Chore = {
  name: 'ended sessions',
  async run(client) {
    const prune = (statement: string) => untilNone(async () => (await client.query(statement)).rowCount ?? 0)
    return (await prune(pruneSessionRows)) + (await prune(pruneCrowdedSessionRows))
  },
}
export const pruneTokens: Chore = {
  name: 'mailed tokens',
  run: client => untilNone(async () => (await client.query(pruneTokenRows)).rowCount ?? 0),
}
