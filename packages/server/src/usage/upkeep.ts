import type { Statement } from '../platform/db/connection.ts'
import { type Chore, untilNone } from '../platform/db/upkeep.ts'
import { removeHours, removeMonths, removeReports } from './sql.ts'

const rowsAtOnce = 1_000

const chore = (name: string, removal: Statement): Chore => ({
  name,
  run: client =>
    untilNone(async () => (await client.query({ ...removal, values: [rowsAtOnce] })).rowCount ?? 0),
})

/** Ids of reports, 14 days after they were taken: none of their hours would be taken then. */
export const pruneUsageReports = chore('usage reports', removeReports)
/** 25 months after: the figures show 24. */
export const pruneUsageHours = chore('usage hours', removeHours)
export const pruneUsageMonths = chore('usage months', removeMonths)
