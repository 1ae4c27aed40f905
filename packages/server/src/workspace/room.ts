import type { Room } from '../gate/room.ts'
import type { Clock } from '../platform/clock.ts'
import type { Pool } from '../platform/db/pool/pool.ts'
import type { MakeId } from '../platform/ids.ts'
import type { Logger } from '../platform/observe/log.ts'
import type { Endings } from '../secret-keys/endings.ts'
import { billingLetters, proveBillingAddress } from './billing.ts'
import { type Disownings, openDisownings } from './disownings.ts'
import { routes } from './routes.ts'
import { pruneWorkspaceLoads } from './upkeep.ts'

interface Outside {
  readonly pool: Pool
  readonly clock: Clock
  readonly makeId: MakeId
  readonly log: Logger
  readonly endings: Endings
}

export const workspace = {
  routes,
  open: (outside: Outside) => ({ disownings: openDisownings(outside), proveBillingAddress }),
  close: ({ disownings }: { disownings: Disownings }) => disownings.close(),
  chores: () => [pruneWorkspaceLoads],
  letters: billingLetters,
} satisfies Room
