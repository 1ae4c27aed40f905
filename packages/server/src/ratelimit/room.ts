/**
 * Rate-limit checks. `subject.ts` is what a check counts, `window.ts` the arithmetic, `fold.ts` charges all rules or
 * none, `answer.ts` makes the verdict. A `store.ts` has the counters: `postgres.ts` with `stored-counters.ts`, or
 * `redis/redis.ts`; `open-counters.ts` chooses. `counter-rows.ts` bounds the rows, `invented.ts` deletes counters of
 * ids that do not exist. `peek.ts` reads what is left. `checking-nodes.ts` counts the nodes that ask.
 */

import { ListedCalls } from '../gate/listed-calls.ts'
import type { Room } from '../gate/room.ts'
import type { Budgets } from '../platform/budgets.ts'
import type { Clock } from '../platform/clock.ts'
import type { Lanes } from '../platform/db/lanes/lanes.ts'
import type { Errands } from '../platform/db/pool/errands.ts'
import { type Chore, untilNone } from '../platform/db/upkeep.ts'
import { nearestToLimit } from '../platform/observe/figures.ts'
import type { Logger } from '../platform/observe/log.ts'
import type { Metrics } from '../platform/observe/metrics.ts'
import { CheckingNodes } from './checking-nodes.ts'
import { openCounters } from './open-counters.ts'
import { routes } from './routes.ts'
import { removeCounters } from './sql.ts'
import type { CounterStore } from './store.ts'

const rowsAtOnce = 1_000

/** Deletes the rows of subjects whose counters no longer count. Rows that a check has locked are skipped. */
export const pruneCounters: Chore = {
  name: 'rate-limit counters',
  run: client =>
    untilNone(async () => (await client.query({ ...removeCounters, values: [rowsAtOnce] })).rowCount ?? 0),
}

interface Outside {
  readonly config: Parameters<typeof openCounters>[0]
  readonly clock: Clock
  readonly lanes: Lanes
  readonly errands: Errands
  readonly budgets: Pick<Budgets, 'requestMs'>
  readonly log: Logger
  readonly metrics: Metrics
}
interface Opened {
  readonly counters: CounterStore
}

export const ratelimit = {
  routes,
  open: async ({ config, clock, lanes, errands, budgets: { requestMs }, log, metrics }: Outside) => ({
    counters: await openCounters(config, { lanes, errands, requestMs }, log, metrics),
    checkingNodes: new CheckingNodes(clock),
    listedChecks: new ListedCalls(),
    countRateLimit: metrics.verdictCounter('rate_limit', ['allowed', 'denied']),
  }),
  close: ({ counters }: Opened) => counters.close(),
  chores: () => [pruneCounters],
  figures: ({ counters }: Opened) => [
    nearestToLimit('counters', () => counters.nearestToLimit()),
    redisMemory(counters),
  ],
} satisfies Room

/** 0 stands for an unknown share: there is no Redis, it has no `maxmemory`, or it does not answer. */
function redisMemory({ readMemory }: CounterStore) {
  let usedPart = 0
  return {
    name: 'keyrail_redis_memory_ratio',
    help: 'Used part of the maxmemory of the fullest Redis.',
    gathered: 'max' as const,
    async before() {
      usedPart = (await readMemory?.()) ?? 0
    },
    read: () => [{ value: usedPart }],
  }
}
