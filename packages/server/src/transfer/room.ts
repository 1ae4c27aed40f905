/**
 * Keys that come from another system by their digests, and that go to one. `import.ts` writes the rows of a call in one transaction:
 * `read-row.ts` reads a row, `resolve.ts` finds what the store has of them, `plan.ts` judges them, `import-sql.ts` has the statements.
 * `export.ts` with `export-sql.ts` streams keys.
 */

import { Exports } from '../audit/exports.ts'
import type { Room } from '../gate/room.ts'
import type { Clock } from '../platform/clock.ts'
import { routes } from './routes.ts'

export const transfer = {
  routes,
  open: ({ config, clock }: { config: { readonly processes: number }; clock: Clock }) => ({
    keyExports: new Exports(clock.monotonic, config.processes),
  }),
} satisfies Room
