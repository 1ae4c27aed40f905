/**
 * Requests that must execute once. `verdict.ts` is the rule, `claims.ts` and `ends.ts` are its lanes, `record.ts` a
 * stored claim, `service.ts` opens them. `actions.ts` claims, completes and releases, `listed.ts` does so for lists of
 * calls; `read-completion.ts` reads the body of a completion, `answers.ts` sends stored answers within the bytes of
 * `stored-bytes.ts`, `answer.ts` reads what is replayed. `upkeep.ts` removes claims that have expired.
 */

import { ListedCalls } from '../gate/listed-calls.ts'
import type { Room } from '../gate/room.ts'
import { systemClock } from '../platform/clock.ts'
import type { Lanes } from '../platform/db/lanes/lanes.ts'
import type { Errands } from '../platform/db/pool/errands.ts'
import { nearestToLimit } from '../platform/observe/figures.ts'
import type { Logger } from '../platform/observe/log.ts'
import type { Metrics } from '../platform/observe/metrics.ts'
import { routes } from './routes.ts'
import { type Idempotency, openIdempotency } from './service.ts'
import { openStoredBytes } from './stored-bytes.ts'
import { pruneBodies, pruneClaims, pruneStoredBytes } from './upkeep.ts'
import { claimVerdicts } from './verdict.ts'

interface Outside {
  readonly config: { readonly maxStoredAnswerBytesPerWorkspace: number }
  readonly lanes: Lanes
  readonly errands: Errands
  readonly log: Logger
  readonly metrics: Metrics
}
interface Opened {
  readonly idempotency: Idempotency
}

export const idempotency = {
  routes,
  open({ config, lanes, errands, log, metrics }: Outside) {
    const most = config.maxStoredAnswerBytesPerWorkspace
    return {
      idempotency: openIdempotency(lanes, openStoredBytes(errands, most, systemClock, log)),
      listedClaims: new ListedCalls(),
      countClaim: metrics.verdictCounter('idempotency', claimVerdicts),
    }
  },
  close: ({ idempotency }: Opened) => idempotency.storedBytes.close(),
  chores: () => [pruneClaims, pruneBodies, pruneStoredBytes],
  figures: ({ idempotency }: Opened) => [
    nearestToLimit('stored_answer_bytes', () => idempotency.storedBytes.nearest()),
  ],
} satisfies Room
