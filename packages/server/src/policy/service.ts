import type { Clock } from '../platform/clock.ts'
import type { Connection } from '../platform/db/connection.ts'
import type { Hints } from '../platform/db/hints.ts'
import type { LaneObserver } from '../platform/db/lane.ts'
import { feedFeatures } from './features.ts'
import { type Heads, openHeads } from './heads.ts'
import { type Nodes, openNodes } from './nodes.ts'
import { createPages, type FeedPage, type Pages } from './pages.ts'
import { type FeedStatements, feedStatements } from './statements.ts'
import { createWatch, type HeldMax, type Watch } from './watch.ts'

/** What the feed keeps between requests, none of which another process needs. */
export interface PolicyFeed {
  readonly heads: Heads
  readonly nodes: Nodes
  readonly pages: Pages<FeedPage>
  readonly watch: Watch
  readonly statements: FeedStatements
  close(): Promise<void>
}

export function openPolicyFeed(
  connection: Connection,
  clock: Clock,
  hints: Hints,
  observer: LaneObserver,
  heldMax: HeldMax,
): PolicyFeed {
  const heads = openHeads(connection, observer)
  const nodes = openNodes(connection, clock, observer)
  return {
    heads,
    nodes,
    pages: createPages(),
    watch: createWatch(heads, hints, heldMax),
    statements: feedStatements(feedFeatures),
    async close() {
      await Promise.all([heads.close(), nodes.close()])
    },
  }
}
