import { LeakFeedback, LeakReport } from '@keyrail/contract/webhook'
import { type Route, signedRoute } from '../gate/route.ts'
import { receiveLeaks } from './actions.ts'

/** 5 MiB: a code host may find very many at once. */
const reportMax = 5 * 1_048_576

const signed = {
  headers: { keyId: 'github-public-key-identifier', value: 'github-public-key-signature' },
  schema: LeakReport,
}

export const webhookRoutes: Route[] = [
  signedRoute('/v1/webhooks/codehost/secret_scanning', signed, {
    operation: 'receiveLeaks',
    summary: 'Revoke credentials that a code host has found in public. Signed by the code host',
    answer: LeakFeedback,
    bodyLimit: reportMax,
    async handle(deps, { body, signature, holdBytes }) {
      const feedback = Buffer.from(JSON.stringify(await receiveLeaks(deps, body, signature)))
      holdBytes(feedback.length)
      return { body: feedback }
    },
  }),
]
