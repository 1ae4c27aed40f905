import type { Room } from '../gate/room.ts'
import type { Budgets } from '../platform/budgets.ts'
import type { Lanes } from '../platform/db/lanes/lanes.ts'
import type { Errands } from '../platform/db/pool/errands.ts'
import { nearestToLimit } from '../platform/observe/figures.ts'
import type { Logger } from '../platform/observe/log.ts'
import type { Metrics } from '../platform/observe/metrics.ts'
import { openCounters } from './open-counters.ts'
import { routes } from './routes.ts'
import type { CounterStore } from './store.ts'
import { pruneCounters } from './upkeep.ts'

interface Outside {
  readonly config: Parameters<typeof openCounters>[0]
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
  open: async ({ config, lanes, errands, budgets: { requestMs }, log, metrics }: Outside) => ({
    counters: await openCounters(config, { lanes, errands, requestMs }, log, metrics),
    countRateLimit: metrics.verdictCounter('rate_limit', ['allowed', 'denied']),
  }),
  close: ({ counters }: Opened) => counters.close(),
  chores: () => [pruneCounters],
  figures: ({ counters }: Opened) => [
    nearestToLimit('counters', () => counters.nearestToLimit()),
    redisMemory(counters),
  ],
} satisfies Room

/** 0 stands for a share that is unknown: there is no Redis, it has no `maxmemory`, or it does not answer. */
function redisMemory({ readMemory }: CounterStore) {
  let usedPart = 0
  return {
    name: 'keyrail_redis_memory_ratio',
    help: 'Used part of the maxmemory of the fullest Redis.',
    async before() {
      usedPart = (await readMemory?.()) ?? 0
    },
    read: () => [{ value: usedPart }],
  }
}
