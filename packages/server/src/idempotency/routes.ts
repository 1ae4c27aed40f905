/**
 * Requests that must execute once. `verdict.ts` is the rule, `claims.ts` and `ends.ts` are its lanes, and `answer.ts`
 * reads what is replayed.
 */

import {
  ClaimBody,
  ClaimVerdict,
  CompleteBody,
  CompleteVerdict,
  HeartbeatBody,
  HeartbeatVerdict,
  ReleaseBody,
  ReleaseVerdict,
} from '@keyrail/contract/idempotency'
import { nodes, withinProjects } from '../gate/access.ts'
import { routesFor } from '../gate/make-route.ts'
import type { Route } from '../gate/route.ts'
import { claimRecord, completeRecord, extendLock, releaseRecord } from './actions.ts'
import type { IdempotencyNeeds } from './needs.ts'
import { completionReader } from './read-completion.ts'

const { hotRoute } = routesFor<IdempotencyNeeds>()

/** 8 MiB: a body of 6 MiB in base64, and its headers. */
const completeBytesMax = 8_388_608

export const idempotencyRoutes: Route<IdempotencyNeeds>[] = [
  hotRoute('/v1/idempotency/claim', {
    operation: 'claimIdempotency',
    summary: 'Claim a request',
    description: 'Decides whether you execute a request. Only one of the clients that claim it at once does.',
    access: withinProjects(nodes('idempotency:use')),
    body: ClaimBody,
    answer: ClaimVerdict,
    async handle(deps, call) {
      const body = await claimRecord(deps, call)
      deps.countClaim(body.verdict)
      return { body }
    },
  }),
  hotRoute('/v1/idempotency/complete', {
    operation: 'completeIdempotency',
    summary: 'Complete a request',
    description: 'Stores the answer of the request. Later claims of the same request get it.',
    access: withinProjects(nodes('idempotency:use')),
    bodyLimit: completeBytesMax,
    body: CompleteBody,
    reader: completionReader,
    answer: CompleteVerdict,
    handle: async (deps, call) => ({ body: await completeRecord(deps, call) }),
  }),
  hotRoute('/v1/idempotency/release', {
    operation: 'releaseIdempotency',
    summary: 'Release a request',
    description: 'Gives up the claim, so that a retry is executed. Use it for temporary failures.',
    access: withinProjects(nodes('idempotency:use')),
    body: ReleaseBody,
    answer: ReleaseVerdict,
    handle: async (deps, call) => ({ body: await releaseRecord(deps, call) }),
  }),
  hotRoute('/v1/idempotency/heartbeat', {
    operation: 'extendIdempotencyLock',
    summary: 'Extend a claim',
    description: 'Extends the lock of a request that takes long. Call it before the lock expires.',
    access: withinProjects(nodes('idempotency:use')),
    body: HeartbeatBody,
    answer: HeartbeatVerdict,
    handle: async (deps, call) => ({ body: await extendLock(deps, call) }),
  }),
]
