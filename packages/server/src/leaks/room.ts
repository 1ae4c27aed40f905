/**
 * Credentials that a code host reports as leaked. `codehost-keys.ts` with `read-keys.ts` verifies the sender, `reports.ts`
 * reads the reports of a body, `at-once.ts` bounds how many are under way. `actions.ts` goes through the reports,
 * `find-leaked.ts` finds their credentials, `revoke.ts` ends one. `report-letters.ts` queues the mail of `letters.ts`.
 * `upkeep.ts` queues mail that was left, and deletes old places.
 */

import type { Room } from '../gate/room.ts'
import type { Clock } from '../platform/clock.ts'
import type { Lanes } from '../platform/db/lanes/lanes.ts'
import { openCodehostKeys } from './codehost-keys.ts'
import { openFindLeaked } from './find-leaked.ts'
import { leakLetters } from './letters.ts'
import { readKeysFrom } from './read-keys.ts'
import { routes } from './routes.ts'
import { pruneLeaks, queueLeftLetters } from './upkeep.ts'

interface Outside {
  readonly config: Parameters<typeof readKeysFrom>[0]
  readonly clock: Clock
  readonly lanes: Lanes
}

export const leaks = {
  routes,
  open: ({ config, clock, lanes }: Outside) => ({
    codehostKeys: openCodehostKeys(readKeysFrom(config), clock),
    findLeaked: openFindLeaked(lanes),
  }),
  chores: () => [pruneLeaks, queueLeftLetters],
  letters: leakLetters,
} satisfies Room
