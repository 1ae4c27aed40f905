import { idempotencyRoutes } from '@keyrail/contract/routes/idempotency'
import { nodes, withinProjects } from '../gate/access.ts'
import { readBy, servedWith } from '../gate/serve.ts'
import { claimRecord, completeRecord, extendLock, releaseRecord } from './actions.ts'
import { answerCalls } from './listed.ts'
import type { IdempotencyNeeds } from './needs.ts'
import { completionReader } from './read-completion.ts'

const serve = servedWith<IdempotencyNeeds>()

/** 8 MiB: a body of 6 MiB in base64, and its headers. */
const completeBytesMax = 8_388_608

export const routes = serve(idempotencyRoutes, {
  'POST /v1/idempotency/claim': {
    access: withinProjects(nodes),
    handle: async (deps, call) => ({ body: await claimRecord(deps, call) }),
  },
  'POST /v1/idempotency/complete': {
    access: withinProjects(nodes),
    bodyLimit: completeBytesMax,
    ...readBy(completionReader, async (deps: IdempotencyNeeds, call) => ({
      body: await completeRecord(deps, call),
    })),
  },
  'POST /v1/idempotency/release': {
    access: withinProjects(nodes),
    handle: async (deps, call) => ({ body: await releaseRecord(deps, call) }),
  },
  'POST /v1/idempotency/heartbeat': {
    access: withinProjects(nodes),
    handle: async (deps, call) => ({ body: await extendLock(deps, call) }),
  },
  'POST /v1/idempotency/claims': {
    access: withinProjects(nodes),
    handle: async (deps, call) => ({ body: await answerCalls(deps, call) }),
  },
})
