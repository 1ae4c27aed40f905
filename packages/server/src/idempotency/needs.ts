import type { ClaimVerdict } from '@keyrail/contract/idempotency'
import type { ListedCalls } from '../gate/listed-calls.ts'
import type { Idempotency } from './service.ts'

/** What the routes of this room need from outside; `deps.ts` has it. */
export interface IdempotencyNeeds {
  readonly idempotency: Idempotency
  readonly countClaim: (verdict: ClaimVerdict['verdict']) => void
  readonly listedClaims: Pick<ListedCalls, 'enter'>
  readonly randomBytes: (size: number) => Buffer
}
