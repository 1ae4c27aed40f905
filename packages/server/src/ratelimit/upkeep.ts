import { type Chore, untilNone } from '../platform/db/upkeep.ts'
import { removeCounters } from './sql.ts'

const rowsAtOnce = 1_000

/** Subjects of whom nothing counts any more. A batch passes by what a check holds. */
export const pruneCounters: Chore = {
  name: 'rate-limit counters',
  run: client =>
    untilNone(async () => (await client.query({ ...removeCounters, values: [rowsAtOnce] })).rowCount ?? 0),
}
