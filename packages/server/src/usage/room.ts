import type { Room } from '../gate/room.ts'
import type { Lanes } from '../platform/db/lanes/lanes.ts'
import { openReports } from './reports.ts'
import { routes } from './routes.ts'
import {
  pruneRefusals,
  pruneUsageDays,
  pruneUsageHours,
  pruneUsageMonths,
  pruneUsageReports,
} from './upkeep.ts'

export const usage = {
  routes,
  open: ({ lanes }: { lanes: Lanes }) => ({ usageReports: openReports(lanes) }),
  chores: () => [pruneUsageReports, pruneUsageHours, pruneUsageMonths, pruneUsageDays, pruneRefusals],
} satisfies Room
