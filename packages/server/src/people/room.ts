/**
 * Accounts and sessions of people, outside any workspace. `accounts.ts` signs up (`password-rules.ts`, `first-account.ts`),
 * `proofs.ts` accepts mailed tokens, `letters.ts` writes their letters, `sessions.ts` with `session-sql.ts` signs in:
 * `find-account.ts` looks up in a lane, `device-lane.ts` knows the device, `sign-in-guard.ts`, `network-failures.ts` and
 * `sign-in-turns.ts` bound guesses. `standing.ts` is what other rooms may ask about a person, `vouching.ts` with
 * `vouching-sql.ts` who stands for whom, `unproven.ts` with `unproven-sql.ts` ends what an account made before its address was
 * proved. `address.ts` is the form in which addresses are compared, `own-event.ts` records what a person did, `removal.ts`
 * erases a person, `resource.ts` is the shape of the API, `restored.ts` ends sessions after a restore.
 */

import type { Room } from '../gate/room.ts'
import type { Budgets } from '../platform/budgets.ts'
import { type Clock, sleepUnless } from '../platform/clock.ts'
import type { Connection } from '../platform/db/connection.ts'
import type { Lanes } from '../platform/db/lanes/lanes.ts'
import { type Chore, untilNone } from '../platform/db/upkeep.ts'
import { openFindAccount } from './find-account.ts'
import { openFirstAccount } from './first-account.ts'
import { personLetters } from './letters.ts'
import { routes } from './routes.ts'
import { pruneCrowdedSessionRows, pruneSessionRows } from './session-sql.ts'
import { createSignInGuard } from './sign-in-guard.ts'
import { pruneTokenRows } from './sql.ts'

/**
 * Deletes sessions thirty days after their end, or at once if their person has a thousand newer ones; and used or expired mail
 * tokens.
 */
export const pruneSessions: Chore = {
  name: 'ended sessions',
  async run(client) {
    const prune = (statement: string) => untilNone(async () => (await client.query(statement)).rowCount ?? 0)
    return (await prune(pruneSessionRows)) + (await prune(pruneCrowdedSessionRows))
  },
}
const pruneTokens: Chore = {
  name: 'mailed tokens',
  run: client => untilNone(async () => (await client.query(pruneTokenRows)).rowCount ?? 0),
}

interface Outside {
  readonly config: { readonly authPerIp: number | null; readonly processes: number }
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
    signIns: createSignInGuard({
      clock,
      sleep: sleepUnless(closing),
      perNetworkMinute: config.authPerIp,
      processes: config.processes,
    }),
  }),
  chores: () => [pruneSessions, pruneTokens],
  letters: personLetters,
} satisfies Room
