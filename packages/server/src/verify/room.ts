/**
 * Verdicts on keys, for servers without the SDK. `find-key.ts` reads a key with the statement of `sql.ts`, `judge.ts` judges it by
 * the contract's order, `actions.ts` charges its limits and counts the request.
 */

import { serviceVerdicts } from '@keyrail/contract/verdicts'
import type { Room } from '../gate/room.ts'
import type { Lanes } from '../platform/db/lanes/lanes.ts'
import type { Metrics } from '../platform/observe/metrics.ts'
import { openFindKey } from './find-key.ts'
import { routes } from './routes.ts'

export const verify = {
  routes,
  open: ({ lanes, metrics }: { lanes: Lanes; metrics: Pick<Metrics, 'verdictCounter'> }) => ({
    findKeyByText: openFindKey(lanes),
    countKeyVerdict: metrics.verdictCounter('key', serviceVerdicts),
  }),
} satisfies Room
