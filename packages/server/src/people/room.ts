import type { Room } from '../gate/room.ts'
import type { Budgets } from '../platform/budgets.ts'
import type { Clock } from '../platform/clock.ts'
import { sleepUnless } from '../platform/clock.ts'
import type { Connection } from '../platform/db/connection.ts'
import type { Lanes } from '../platform/db/lanes/lanes.ts'
import { openFindAccount } from './find-account.ts'
import { openFirstAccount } from './first-account.ts'
import { personLetters } from './letters.ts'
import { routes } from './routes.ts'
import { createSignInGuard } from './sign-in-guard.ts'
import { pruneSessions, pruneTokens } from './upkeep.ts'

interface Outside {
  readonly config: { readonly authPerIp: number | null }
  readonly clock: Clock
  readonly lanes: Lanes
  readonly connection: Connection
  readonly budgets: Pick<Budgets, 'watchdogMs'>
  readonly closing: AbortSignal
}

export const people = {
  routes,
  open: ({ config, clock, lanes, connection, budgets, closing }: Outside) => ({
    accounts: openFindAccount(lanes),
    firstAccount: openFirstAccount(connection, budgets.watchdogMs),
    signIns: createSignInGuard({ clock, sleep: sleepUnless(closing), perNetworkMinute: config.authPerIp }),
  }),
  chores: () => [pruneSessions, pruneTokens],
  letters: personLetters,
} satisfies Room
