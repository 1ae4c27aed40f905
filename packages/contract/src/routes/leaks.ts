import { LeakFeedback, LeakReport } from '../leaks.ts'
import { declareRoutes } from './declare.ts'

export const leakRoutes = declareRoutes({
  'POST /v1/webhooks/codehost/secret_scanning': {
    plane: 'codehost',
    operation: 'receiveLeaks',
    summary: 'Receive a leak report',
    description:
      'Receives credentials that a code host has found in public, and revokes them. Keyrail verifies the signature of the code host first.',
    body: LeakReport,
    answer: LeakFeedback,
  },
})
