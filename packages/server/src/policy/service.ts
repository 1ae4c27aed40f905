import type { Budgets } from '../platform/budgets.ts'
import type { Clock } from '../platform/clock.ts'
import { createStoreClock } from '../platform/db/failover/store-clock.ts'
import type { Lanes } from '../platform/db/lanes/lanes.ts'
import type { Hints } from '../platform/db/listen/hints.ts'
import type { Logger } from '../platform/observe/log.ts'
import type { Metrics } from '../platform/observe/metrics.ts'
import { feedFeatures } from './features.ts'
import { type Heads, openHeads } from './heads.ts'
import type { HeldMax } from './held-places.ts'
import { type Nodes, openNodes } from './nodes.ts'
import { createPages, type FeedPage, type Pages } from './pages.ts'
import { openPollKeys, type PollKeys } from './polls.ts'
import { createSendTurns, type SendTurns } from './send-turns.ts'
import { type FeedStatements, feedStatements } from './statements.ts'
import { createWaits, type Waits } from './waits.ts'
import { createWatch, type Watch } from './watch.ts'

/** State of the feed between requests; no other process needs it. */
export interface PolicyFeed {
  readonly heads: Heads
  readonly pollKeys: PollKeys
  readonly nodes: Nodes
  readonly pages: Pages<FeedPage>
  readonly sendTurns: SendTurns
  readonly watch: Watch
  readonly waits: Waits
  readonly statements: FeedStatements
}

export function openPolicyFeed(
  lanes: Lanes,
  clock: Clock,
  hints: Hints,
  { nodeNoteMs }: Pick<Budgets, 'nodeNoteMs'>,
  heldMax: HeldMax,
  /** Null: nothing is measured. */
  observer: Pick<Metrics, 'changeAcknowledged'> | null,
  log: Logger,
): PolicyFeed {
  const heads = openHeads(lanes)
  const storeClock = createStoreClock(clock, log)
  hints.tellTime(storeClock.ask)
  return {
    heads,
    pollKeys: openPollKeys(lanes),
    nodes: openNodes(lanes, clock, storeClock, nodeNoteMs, observer?.changeAcknowledged ?? null),
    pages: createPages(),
    sendTurns: createSendTurns(),
    watch: createWatch(heads, hints, heldMax, () => clock.monotonic()),
    waits: createWaits(),
    statements: feedStatements(feedFeatures),
  }
}
