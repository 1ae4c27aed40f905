import type { FeedClient } from '../feed/client.ts'
import { Sync } from '../feed/sync.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Reports } from '../runtime/reports.ts'
import type { ServiceTime } from '../runtime/service-time.ts'
import { envOfHeld } from '../verify/env-of-held.ts'
import { counting, type RefusalCounts } from '../verify/refusal-counts.ts'
import { createVerify, type Served, type Verify } from '../verify/verify.ts'
import { importer } from './importer.ts'
import type { Settings } from './options.ts'
import { UnknownKeys } from './unknown-keys.ts'

/** One follower of the feed: it polls, holds the keys that the polls bring, and verifies with them. */
export interface Subscription {
  sync: Sync
  served: Served
  verify: Verify
  unknownKeys: UnknownKeys | undefined
}

export interface SubscriptionParts {
  settings: Settings
  client: FeedClient
  clock: Clock
  reports: Reports
  time: ServiceTime
  /** Counts the refusals of the process; without it, none are counted. */
  counts?: RefusalCounts
}

export function openSubscription({
  settings,
  client,
  clock,
  reports,
  time,
  counts,
}: SubscriptionParts): Subscription {
  const served: Served = { store: undefined, hits: 0, misses: 0, evictions: 0 }
  const { env, cachedTtlMs, onUnavailable, own } = settings
  const serviceClock = {
    wall: (monotonic: number) => time.now(monotonic),
    monotonic: () => clock.monotonic(),
    pause: clock.pause,
  }
  if (counts !== undefined) counts.envOf = key => envOfHeld(served, key)
  const judge = createVerify(served, { env, cachedTtlMs, clock: serviceClock, onUnavailable })
  const unknownKeys =
    own &&
    new UnknownKeys({
      check: own.check,
      send: importer(settings, own.importWith),
      clock: serviceClock,
      served,
      cachedTtlMs,
      judge,
      onError: error => reports.error(error),
    })
  const sync = new Sync({
    client,
    clock,
    // Not copied for a worker, which draws the id of its node only while it answers a request.
    settings: counts === undefined ? settings : { ...settings, countsRefusals: true },
    served,
    onRaised: maxKeys => reports.raised(maxKeys, settings),
    onHeld: (keys, most) => {
      reports.holds(keys, most)
      unknownKeys?.polled()
    },
    onOdd: error => reports.error(error),
    onUnlabelled: () => reports.unlabelled(),
    onRefusals: areTaken => {
      if (counts !== undefined) counts.isTaken = areTaken
    },
    onTime: times => time.answered(times),
  })
  return { sync, served, unknownKeys, verify: counts === undefined ? judge : counting(judge, counts) }
}
