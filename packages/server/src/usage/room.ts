/**
 * Usage of keys, and requests that were refused. `reports.ts` takes reports of nodes: `report-lane.ts` adds each once,
 * with `statements.ts`; `refusals.ts` with `refusals-sql.ts` does so for refusals. `own-counts.ts` counts what this
 * process judges itself. `actions.ts` answers reads, `tops.ts` the largest, `key-usage.ts` and `figures.ts` are what other rooms may show.
 */

import type { Room } from '../gate/room.ts'
import type { Budgets } from '../platform/budgets.ts'
import type { Statement } from '../platform/db/connection.ts'
import type { Lanes } from '../platform/db/lanes/lanes.ts'
import { type Chore, untilNone } from '../platform/db/upkeep.ts'
import type { MakeId } from '../platform/ids.ts'
import type { Logger } from '../platform/observe/log.ts'
import { OwnCounts } from './own-counts.ts'
import { openReports } from './reports.ts'
import { routes } from './routes.ts'
import { removeDays, removeHours, removeMonths, removeRefusals, removeReports, removeShadow } from './sql.ts'

const rowsAtOnce = 1_000

const chore = (name: string, removal: Statement): Chore => ({
  name,
  run: client =>
    untilNone(async () => (await client.query({ ...removal, values: [rowsAtOnce] })).rowCount ?? 0),
})

/** Deletes ids of reports 14 days after they were taken. By then no hour of such a report would be accepted. */
export const pruneUsageReports = chore('usage reports', removeReports)
/** Deletes hours after 25 months: the figures show 24. */
export const pruneUsageHours = chore('usage hours', removeHours)
export const pruneUsageMonths = chore('usage months', removeMonths)
/** Deletes days after 91 days: the figures show 90. */
export const pruneUsageDays = chore('usage days', removeDays)
/** Deletes refusals after 91 days, too. */
export const pruneRefusals = chore('refusals', removeRefusals)
/** And what was counted in shadow. */
export const pruneShadow = chore('shadow counts', removeShadow)

interface Outside {
  readonly lanes: Lanes
  readonly makeId: MakeId
  readonly budgets: Pick<Budgets, 'requestMs' | 'countsMs'>
  readonly log: Logger
}

export const usage = {
  routes,
  open({ lanes, makeId, budgets, log }: Outside) {
    const usageReports = openReports(lanes)
    return { usageReports, ownCounts: new OwnCounts({ reports: usageReports, makeId, budgets, log }) }
  },
  close: ({ ownCounts }: { readonly ownCounts: OwnCounts }) => ownCounts.close(),
  chores: () => [
    pruneUsageReports,
    pruneUsageHours,
    pruneUsageMonths,
    pruneUsageDays,
    pruneRefusals,
    pruneShadow,
  ],
} satisfies Room
