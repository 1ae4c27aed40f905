/**
 * Refused credentials, new devices and changed accounts. An `event.ts` is written by `record.ts` inside a transaction,
 * by `writer.ts` and `tally.ts` beside requests. `watch.ts` sees refusals, `devices.ts` new devices, `owners.ts` writes
 * the mail of `letters.ts` to owners. `actions.ts` lists events.
 */

import type { Room } from '../gate/room.ts'
import type { Clock } from '../platform/clock.ts'
import type { Lanes } from '../platform/db/lanes/lanes.ts'
import { type Chore, untilNone } from '../platform/db/upkeep.ts'
import type { MakeId } from '../platform/ids.ts'
import type { Metrics } from '../platform/observe/metrics.ts'
import { ownerLetters } from './letters.ts'
import { routes } from './routes.ts'
import { pruneEventRows } from './sql.ts'
import { openSecurityEvents, type SecurityEvents } from './writer.ts'

export const pruneSecurityEvents: Chore = {
  name: 'security events',
  run: client => untilNone(async () => (await client.query(pruneEventRows)).rowCount ?? 0),
}

interface Outside {
  readonly lanes: Lanes
  readonly clock: Clock
  readonly makeId: MakeId
  readonly metrics: Metrics
  readonly config: { readonly processes: number }
}

export const securityEvents = {
  routes,
  open: ({ lanes, clock, makeId, metrics, config }: Outside) => ({
    securityEvents: openSecurityEvents(lanes, clock, makeId, metrics, config.processes),
  }),
  close: ({ securityEvents }: { securityEvents: SecurityEvents }) => securityEvents.close(),
  chores: () => [pruneSecurityEvents],
  letters: ownerLetters,
} satisfies Room
