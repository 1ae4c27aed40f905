import { type Chore, untilNone } from '../platform/db/upkeep.ts'
import { removeCounters } from './sql.ts'

const rowsAtOnce = 1_000

/** Deletes the rows of subjects whose counters no longer count. Rows that a check has locked are skipped. */
export const pruneCounters: Chore = {
  name: 'rate-limit counters',
  run: client =>
    untilNone(async () => (await client.query({ ...removeCounters, values: [rowsAtOnce] })).rowCount ?? 0),
}
