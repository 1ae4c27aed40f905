import type { Room } from '../gate/room.ts'
import type { Clock } from '../platform/clock.ts'
import type { Pool } from '../platform/db/pool/pool.ts'
import type { MakeId } from '../platform/ids.ts'
import type { Logger } from '../platform/observe/log.ts'
import { type Endings, openEndings } from './endings.ts'
import { routes } from './routes.ts'
import { pruneEndedSecretKeys, pruneEndings } from './upkeep.ts'

interface Outside {
  readonly pool: Pool
  readonly clock: Clock
  readonly makeId: MakeId
  readonly randomBytes: (size: number) => Buffer
  readonly log: Logger
}

export const secretKeys = {
  routes,
  open: (outside: Outside) => ({ endings: openEndings(outside) }),
  close: ({ endings }: { endings: Endings }) => endings.close(),
  chores: () => [pruneEndings, pruneEndedSecretKeys],
} satisfies Room
