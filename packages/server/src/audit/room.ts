/**
 * The audit log and its hash chain. `chain.ts` has the bytes of a row, `append.ts` writes it as the last of a transaction,
 * `changes.ts` says what an update changed. `actions.ts` lists the addresses in payloads, which `address-place.ts` finds.
 * `list.ts` with `list-sql.ts` reads rows, `export.ts` sends all rows within the limits of `exports.ts`. `checkpoint.ts` signs
 * a head, `signed-head.ts` signs with the service's key. `verify.ts` checks a chain: `verify-thread.ts` and `verify-worker.ts`
 * in a thread, `verify-run.ts` piece by piece over `copied-rows.ts`, `chain-lines.ts` reports the progress, `verify-file.ts`
 * checks an export, whose lines `lines.ts` splits. `resource.ts` is the shape of the API, `upkeep.ts` checks every chain once a
 * day.
 */

import type { Room } from '../gate/room.ts'
import { type Clock, systemClock } from '../platform/clock.ts'
import type { Connection } from '../platform/db/connection.ts'
import type { Errands } from '../platform/db/pool/errands.ts'
import type { SealedStore } from '../platform/db/sealed/store.ts'
import type { Logger } from '../platform/observe/log.ts'
import { Exports } from './exports.ts'
import { routes } from './routes.ts'
import { createSignHeads } from './signed-head.ts'
import { chainsReading, verifyChains } from './upkeep.ts'
import { createDeriveChain } from './verify.ts'

interface Outside {
  readonly config: { readonly publicUrl: string; readonly processes: number }
  readonly clock: Clock
  readonly connection: Connection
  readonly errands: Errands
  readonly sealed: SealedStore
  readonly randomBytes: (size: number) => Buffer
}

export const audit = {
  routes,
  open: ({ config, clock, connection, errands, sealed, randomBytes }: Outside) => ({
    auditExports: new Exports(clock.monotonic, config.processes),
    auditHeads: createSignHeads(
      sealed,
      config.publicUrl,
      randomBytes,
      createDeriveChain(connection, errands),
    ),
  }),
  chores: ({ connection, errands, log }: Pick<Outside, 'connection' | 'errands'> & { log: Logger }) => [
    verifyChains({ connection, errands, log, monotonic: systemClock.monotonic }),
  ],
  readings: [chainsReading],
} satisfies Room
