/**
 * Credentials that a code host reports as leaked. `codehost-keys.ts` verifies the sender, `actions.ts` goes through a
 * report, and `revoke.ts` ends one credential.
 */

import { LeakFeedback, LeakReport } from '@keyrail/contract/leaks'
import { unauthenticated } from '../gate/authenticate.ts'
import { routesFor } from '../gate/make-route.ts'
import type { Route } from '../gate/route.ts'
import type { Signature } from '../gate/signature.ts'
import { receiveLeaks } from './actions.ts'
import type { LeakNeeds } from './needs.ts'

const { signedRoute } = routesFor<LeakNeeds>()

/** 5 MiB: a code host may find very many at once. */
const reportMax = 5 * 1_048_576

const signed = {
  headers: { keyId: 'github-public-key-identifier', value: 'github-public-key-signature' },
  schema: LeakReport,
  async admit({ codehostKeys }: LeakNeeds, { keyId }: Signature) {
    if (!(await codehostKeys.isKnown(keyId))) throw unauthenticated()
  },
}

export const leakRoutes: Route<LeakNeeds>[] = [
  signedRoute('/v1/webhooks/codehost/secret_scanning', signed, {
    operation: 'receiveLeaks',
    summary: 'Receive a leak report',
    description:
      'Receives credentials that a code host has found in public, and revokes them. Keyrail verifies the signature of the code host first.',
    answer: LeakFeedback,
    bodyLimit: reportMax,
    handle: async (deps, { db, body, signature }) => ({
      body: await receiveLeaks(deps, db, body, signature),
    }),
  }),
]
