import type { Room } from '../gate/room.ts'
import type { Clock } from '../platform/clock.ts'
import type { Lanes } from '../platform/db/lanes/lanes.ts'
import type { MakeId } from '../platform/ids.ts'
import type { Metrics } from '../platform/observe/metrics.ts'
import { ownerLetters } from './letters.ts'
import { routes } from './routes.ts'
import { pruneSecurityEvents } from './upkeep.ts'
import { openSecurityEvents, type SecurityEvents } from './writer.ts'

interface Outside {
  readonly lanes: Lanes
  readonly clock: Clock
  readonly makeId: MakeId
  readonly metrics: Metrics
}

export const securityEvents = {
  routes,
  open: ({ lanes, clock, makeId, metrics }: Outside) => ({
    securityEvents: openSecurityEvents(lanes, clock, makeId, metrics),
  }),
  close: ({ securityEvents }: { securityEvents: SecurityEvents }) => securityEvents.close(),
  chores: () => [pruneSecurityEvents],
  letters: ownerLetters,
} satisfies Room
