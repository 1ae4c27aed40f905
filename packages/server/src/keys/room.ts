import type { Room } from '../gate/room.ts'
import type { Clock } from '../platform/clock.ts'
import { createEndedQuota } from './ended-quota.ts'
import { routes } from './routes.ts'
import { createKeyTurns } from './turns.ts'
import { pruneEndedKeys } from './upkeep.ts'

interface Outside {
  readonly config: Parameters<typeof createEndedQuota>[0]
  readonly clock: Clock
}

export const keys = {
  routes,
  open: ({ config, clock }: Outside) => ({
    keyTurns: createKeyTurns(clock),
    endedQuota: createEndedQuota(config, clock),
  }),
  chores: () => [pruneEndedKeys],
} satisfies Room
