import {
  ClaimBody,
  ClaimVerdict,
  CompleteBody,
  CompleteVerdict,
  HeartbeatBody,
  HeartbeatVerdict,
  IdempotencyCalls,
  IdempotencyVerdicts,
  ReleaseBody,
  ReleaseVerdict,
} from '../idempotency.ts'
import { declareRoutes } from './declare.ts'

export const idempotencyRoutes = declareRoutes({
  'POST /v1/idempotency/claim': {
    plane: 'hot',
    operation: 'claimIdempotency',
    summary: 'Claim a request',
    description: 'Decides whether you execute a request. Only one of the clients that claim it at once does.',
    permission: 'idempotency:use',
    body: ClaimBody,
    answer: ClaimVerdict,
  },
  'POST /v1/idempotency/complete': {
    plane: 'hot',
    operation: 'completeIdempotency',
    summary: 'Complete a request',
    description: 'Stores the answer of the request. Later claims of the same request get it.',
    permission: 'idempotency:use',
    body: CompleteBody,
    answer: CompleteVerdict,
  },
  'POST /v1/idempotency/release': {
    plane: 'hot',
    operation: 'releaseIdempotency',
    summary: 'Release a request',
    description: 'Gives up the claim, so that a retry is executed. Use it for temporary failures.',
    permission: 'idempotency:use',
    body: ReleaseBody,
    answer: ReleaseVerdict,
  },
  'POST /v1/idempotency/heartbeat': {
    plane: 'hot',
    operation: 'extendIdempotencyLock',
    summary: 'Extend a claim',
    description: 'Extends the lock of a request that takes long. Call it before the lock expires.',
    permission: 'idempotency:use',
    body: HeartbeatBody,
    answer: HeartbeatVerdict,
  },
  'POST /v1/idempotency/claims': {
    plane: 'hot',
    operation: 'claimIdempotencyOfMany',
    summary: 'Claim and end many requests',
    description:
      'Up to 100 claims, completions, releases and heartbeats, each answered by itself. One that is invalid has its error in its place.',
    permission: 'idempotency:use',
    body: IdempotencyCalls,
    answer: IdempotencyVerdicts,
  },
})
