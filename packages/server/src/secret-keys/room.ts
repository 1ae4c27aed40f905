/**
 * Credentials of the backend of a vendor. `issue.ts` makes one, `limits.ts` compares its limits with those of its maker,
 * `update.ts` and `actions.ts` change it, `delete-ended.ts` deletes. `ending.ts` with `ending-sql.ts` ends a key and all
 * that it made, `endings.ts` continues after the answer. `made.ts` with `made-sql.ts` tells other rooms what a maker made,
 * `held.ts` whether a key stays active, `resource.ts` is the shape of the API, `quota.ts` with `ended-sql.ts` bounds
 * active and ended keys.
 */

import type { Room } from '../gate/room.ts'
import type { Clock } from '../platform/clock.ts'
import type { Pool } from '../platform/db/pool/pool.ts'
import { type Chore, pruneSome, untilNone } from '../platform/db/upkeep.ts'
import type { MakeId } from '../platform/ids.ts'
import type { Logger } from '../platform/observe/log.ts'
import { pruneEndingRows, pruneSecretKeyRows } from './ending-sql.ts'
import { type Endings, openEndings } from './endings.ts'
import { routes } from './routes.ts'

/**
 * Deletes records of what ended with a maker, thirty days later; the audit log keeps them. A leak's letter is sent long before.
 */
const pruneEndings: Chore = {
  name: 'ends of makers',
  run: client => untilNone(async () => (await client.query(pruneEndingRows)).rowCount ?? 0),
}

/** Deletes secret keys ninety days after they were revoked or expired. The audit log keeps what happened to them. */
export const pruneEndedSecretKeys: Chore = {
  name: 'ended secret keys',
  run: client => pruneSome(client, pruneSecretKeyRows),
}

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
