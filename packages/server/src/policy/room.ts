/**
 * What nodes need to verify keys. `changes.ts` raises versions and floors, `raise.ts` all of them. `snapshot.ts` and
 * `delta.ts` answer polls with `page-body.ts`; `scope.ts` is what a poll sees, `features.ts` what a node understands,
 * `statements.ts` the rows for it, `cause.ts` why a key has ended. `polls.ts` reads credential and head together, `heads.ts` the head alone, `pages.ts`
 * shares what is encoded once. `watch.ts` and `waits.ts` hold polls, `held-places.ts` bounds them. `nodes.ts` keeps what
 * each node acknowledged (`nodes-sql.ts`), `unwritten-nodes.ts` what could not be written, `live.ts` which nodes live, `fleet.ts` lists
 * them, `key-nodes.ts` says which lack a key's last change, `propagation.ts` waits for them. `service.ts` opens all of that,
 * `reading.ts` counts nodes, `upkeep.ts` forgets old changes.
 */

import type { Room } from '../gate/room.ts'
import type { Budgets } from '../platform/budgets.ts'
import type { Clock } from '../platform/clock.ts'
import type { Lanes } from '../platform/db/lanes/lanes.ts'
import type { Hints } from '../platform/db/listen/hints.ts'
import { nearestToLimit } from '../platform/observe/figures.ts'
import type { Logger } from '../platform/observe/log.ts'
import type { Metrics } from '../platform/observe/metrics.ts'
import { nodesReading } from './reading.ts'
import { routes } from './routes.ts'
import { openPolicyFeed, type PolicyFeed } from './service.ts'
import { pruneChanges, pruneNodes } from './upkeep.ts'

interface Config {
  readonly maxHeldPolls: number
  readonly maxHeldPollsPerWorkspace: number
  readonly metricsPort: number | null
}

interface Outside {
  readonly config: Config
  readonly lanes: Lanes
  readonly clock: Clock
  readonly hints: Hints
  readonly budgets: Budgets
  readonly metrics: Metrics
  readonly log: Logger
}

export const policy = {
  routes,
  open({ config, lanes, clock, hints, budgets, metrics, log }: Outside) {
    const heldMax = { all: config.maxHeldPolls, ofWorkspace: config.maxHeldPollsPerWorkspace }
    const observer = config.metricsPort === null ? null : metrics
    return { policy: openPolicyFeed(lanes, clock, hints, budgets, heldMax, observer, log) }
  },
  chores: () => [pruneChanges, pruneNodes],
  figures: ({ config, policy }: { config: Config; policy: PolicyFeed }) => [
    {
      name: 'keyrail_held_polls',
      help: 'Polls that are held until there is a change.',
      read: () => [{ value: policy.watch.held().all }],
    },
    nearestToLimit(
      'held_polls',
      () => policy.watch.held().mostOfOne / Math.max(1, config.maxHeldPollsPerWorkspace),
    ),
  ],
  readings: [nodesReading],
} satisfies Room
