import type { Budgets } from '../platform/budgets.ts'
import type { Clock } from '../platform/clock.ts'
import { FairQueue } from '../platform/concurrency/fair-queue.ts'
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
import { type FeedStatements, feedStatements } from './statements.ts'
import { createWaits, type Waits } from './waits.ts'
import { createWatch, type Watch } from './watch.ts'

/** Waits until an answer of the feed may be sent. It never refuses, so that no fleet stays stale. */
type SendTurns = (workspaceId: string, bytes: number) => Promise<void>

/** Smaller answers are sent at once. Writing this much to a socket takes well below 0.1 ms. */
const largeBytes = 64 * 1_024

/**
 * Sends one large answer in each pass of the event loop, the workspaces in turn. When a fleet re-seeds, fifty snapshots
 * may be ready at the same moment; written one after the other they would keep every other request waiting.
 */
export function createSendTurns(): SendTurns {
  const queue = new FairQueue({ places: 1, placesOfOne: 1, waitingOfOne: Number.POSITIVE_INFINITY })
  return async (workspaceId, bytes) => {
    if (bytes < largeBytes) return
    const turn = queue.take(workspaceId)
    await turn?.come
    // Whatever has arrived in the meantime is handled before the next one.
    if (turn) setImmediate(turn.end)
  }
}

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
