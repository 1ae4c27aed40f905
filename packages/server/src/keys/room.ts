/**
 * Keys issued to tenants. `issue.ts` creates and rotates, `actions.ts` reads, updates and revokes, `pause.ts` pauses, `bulk.ts` does
 * that to many keys: `filter-sql.ts` finds them, `bulk-batch.ts` changes a batch, `bulks.ts` goes on after the answer, `bulk-wait.ts`
 * waits for nodes, `bulk-sql.ts` stores how far it is. `cascade.ts` revokes with a tenant or project, `delete-ended.ts` deletes.
 * `search.ts` with `search-sql.ts` and `hygiene-sql.ts`, and `identify.ts`, find keys without their ids. `quota.ts` bounds active
 * keys by the lock of `cap-name.ts`, `ended-quota.ts` with `ended-sql.ts` ended ones, `turns.ts` how often a caller may do something,
 * `lifetime.ts` how long a key lives. `rows.ts` has the stored shapes, `resource.ts` those of the API, `known-scopes.ts` what a project says about scopes.
 * `end-sql.ts` has the statements that pause, revoke and delete, `project-sql.ts` and `find-tenant.ts` read a project and a tenant,
 * `facts.ts` with `facts-sql.ts` what a verdict depends on. `tenant-keys.ts` serves the embed plane.
 */

import type { Room } from '../gate/room.ts'
import type { Clock } from '../platform/clock.ts'
import type { Pool } from '../platform/db/pool/pool.ts'
import { type Chore, pruneSome } from '../platform/db/upkeep.ts'
import type { MakeId } from '../platform/ids.ts'
import type { Logger } from '../platform/observe/log.ts'
import { pruneBulkRows } from './bulk-sql.ts'
import { type Bulks, openBulks } from './bulks.ts'
import { pruneKeyRows } from './end-sql.ts'
import { createEndedQuota } from './ended-quota.ts'
import { routes } from './routes.ts'
import { createKeyTurns } from './turns.ts'

/** Deletes keys ninety days after they were revoked or expired. The audit log keeps what happened to them. */
export const pruneEndedKeys: Chore = { name: 'ended keys', run: client => pruneSome(client, pruneKeyRows) }

/** Deletes what changes of many keys have come to, seven days after their end. The audit log keeps each key. */
const pruneBulks: Chore = { name: 'bulk operations', run: client => pruneSome(client, pruneBulkRows) }

interface Outside {
  readonly pool: Pool
  readonly makeId: MakeId
  readonly randomBytes: (size: number) => Buffer
  readonly log: Logger
  readonly config: Parameters<typeof createEndedQuota>[0] & { readonly processes: number }
  readonly clock: Clock
}

export const keys = {
  routes,
  open: ({ config, clock, ...outside }: Outside) => ({
    bulks: openBulks({ ...outside, clock }),
    keyTurns: createKeyTurns(clock, config.processes),
    endedQuota: createEndedQuota(config, clock),
  }),
  close: ({ bulks }: { bulks: Bulks }) => bulks.close(),
  chores: () => [pruneEndedKeys, pruneBulks],
} satisfies Room
