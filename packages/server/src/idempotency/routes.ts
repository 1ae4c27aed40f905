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
import { hotRoute, type Route } from '../gate/route.ts'
import { claimRecord, completeRecord, extendLock, releaseRecord } from './actions.ts'
import { completionReader } from './read-completion.ts'

/** 8 MiB: a body of 6 MiB in base64, and its headers. */
const completeBytesMax = 8_388_608

export const idempotencyRoutes: Route[] = [
  hotRoute('/v1/idempotency/claim', {
    operation: 'claimIdempotency',
    summary: 'Ask who executes a request: of all who ask at once, one',
    access: withinProjects(nodes('idempotency:use')),
    body: ClaimBody,
    answer: ClaimVerdict,
    handle: async (deps, call) => ({ body: await claimRecord(deps, call) }),
  }),
  hotRoute('/v1/idempotency/complete', {
    operation: 'completeIdempotency',
    summary: 'Store what the request was answered, for those who send it again',
    access: withinProjects(nodes('idempotency:use')),
    bodyLimit: completeBytesMax,
    body: CompleteBody,
    reader: completionReader,
    answer: CompleteVerdict,
    handle: async (deps, call) => ({ body: await completeRecord(deps, call) }),
  }),
  hotRoute('/v1/idempotency/release', {
    operation: 'releaseIdempotency',
    summary: 'Free a request that has failed for a moment, so that a retry is executed',
    access: withinProjects(nodes('idempotency:use')),
    body: ReleaseBody,
    answer: ReleaseVerdict,
    handle: async (deps, call) => ({ body: await releaseRecord(deps, call) }),
  }),
  hotRoute('/v1/idempotency/heartbeat', {
    operation: 'extendIdempotencyLock',
    summary: 'Keep a request that takes long from being executed twice',
    access: withinProjects(nodes('idempotency:use')),
    body: HeartbeatBody,
    answer: HeartbeatVerdict,
    handle: async (deps, call) => ({ body: await extendLock(deps, call) }),
  }),
]
