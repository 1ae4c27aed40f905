import { KeyExplain, KeyExplainQuery, KeyExplanation } from '../vendor/explain.ts'
import { declareRoutes } from './declare.ts'

export const explainRoutes = declareRoutes({
  'GET /v1/keys/:id/explain': {
    plane: 'vendor',
    operation: 'explainKey',
    summary: 'Explain a key',
    description:
      'Says whether your servers accept the key now, and if not why: state, tenant, expiry, scopes, limits, and servers that hold an older version. Charges nothing.',
    permission: 'keys:read',
    query: KeyExplainQuery,
    answer: KeyExplanation,
  },
  'POST /v1/keys/explain': {
    plane: 'vendor',
    operation: 'explainKeyText',
    summary: 'Explain a key that you have as text',
    description:
      'As for a key by its id. A text that is no key, or no key of yours, has an explanation too. A credential can explain and identify 60 keys a minute.',
    permission: 'keys:read',
    body: KeyExplain,
    answer: KeyExplanation,
  },
})
