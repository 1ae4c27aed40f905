/**
 * The account of a vendor. `actions.ts` makes, reads and changes it, `removal.ts` deletes all of it, `adopt.ts` gives a
 * workspace without members to a person, `billing.ts` verifies a billing address. `loads.ts` with `load-sql.ts` measures what a
 * workspace takes of the service, `count-requests.ts` its requests, `ranking.ts` with `ranking-sql.ts` names the largest.
 * `unproven.ts` with `unproven-sql.ts` and `disownings.ts` end what an unproven person made. `restored.ts` runs after a
 * restore.
 */

import type { Room } from '../gate/room.ts'
import type { Clock } from '../platform/clock.ts'
import type { Pool } from '../platform/db/pool/pool.ts'
import { type Chore, untilNone } from '../platform/db/upkeep.ts'
import type { MakeId } from '../platform/ids.ts'
import type { Logger } from '../platform/observe/log.ts'
import type { Endings } from '../secret-keys/endings.ts'
import { billingLetters, proveBillingAddress } from './billing.ts'
import { type Disownings, openDisownings } from './disownings.ts'
import { removeLoads } from './load-sql.ts'
import { routes } from './routes.ts'

const rowsAtOnce = 1_000

/** Deletes hours after two days: the figures show the last day. */
export const pruneWorkspaceLoads: Chore = {
  name: 'workspace loads',
  run: client =>
    untilNone(async () => (await client.query({ ...removeLoads, values: [rowsAtOnce] })).rowCount ?? 0),
}

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
