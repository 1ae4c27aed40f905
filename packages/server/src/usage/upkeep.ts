import type { Statement } from '../platform/db/connection.ts'
import { type Chore, untilNone } from '../platform/db/upkeep.ts'
import { removeDays, removeHours, removeMonths, removeRefusals, removeReports } from './sql.ts'

const rowsAtOnce = 1_000

const chore = (name: string, removal: Statement): Chore => ({
  name,
  run: client =>
    untilNone(async () => (await client.query({ ...removal, values: [rowsAtOnce] })).rowCount ?? 0),
})

/** Deletes ids of reports 14 days after they were taken. None of their hours would be accepted by then. */
export const pruneUsageReports = chore('usage reports', removeReports)
/** Deletes hours after 25 months: the figures show 24. */
export const pruneUsageHours = chore('usage hours', removeHours)
export const pruneUsageMonths = chore('usage months', removeMonths)
/** Deletes days after 91 days: the figures show 90. */
export const pruneUsageDays = chore('usage days', removeDays)
/** Deletes refusals after 91 days, too. */
export const pruneRefusals = chore('refusals', removeRefusals)
