import { LeakFeedback, LeakReport } from '@keyrail/contract/webhook'
import type { Deps } from '../deps.ts'
import { unauthenticated } from '../gate/authenticate.ts'
import { type Route, signedRoute } from '../gate/route.ts'
import type { Signature } from '../gate/signature.ts'
import { receiveLeaks } from './actions.ts'

/** 5 MiB: a code host may find very many at once. */
const reportMax = 5 * 1_048_576

const signed = {
  headers: { keyId: 'github-public-key-identifier', value: 'github-public-key-signature' },
  schema: LeakReport,
  async admit({ codehostKeys }: Deps, { keyId }: Signature) {
    if (!(await codehostKeys.isKnown(keyId))) throw unauthenticated()
  },
}

export const webhookRoutes: Route[] = [
  signedRoute('/v1/webhooks/codehost/secret_scanning', signed, {
    operation: 'receiveLeaks',
    summary: 'Revoke credentials that a code host has found in public. Signed by the code host',
    answer: LeakFeedback,
    bodyLimit: reportMax,
    handle: async (deps, { body, signature }) => ({ body: await receiveLeaks(deps, body, signature) }),
  }),
]
