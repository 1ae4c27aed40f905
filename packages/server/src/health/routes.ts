import { strictObject } from '@keyrail/contract/shared'
import Type from 'typebox'
import { openRoute, type Route } from '../gate/route.ts'
import { Refusal } from '../platform/refusal.ts'

/** Liveness without any I/O, and readiness: the store answers and has at least our schema. Also under /v1. */
export const healthRoutes: Route[] = ['', '/v1'].flatMap(prefix => [
  openRoute('GET', `${prefix}/healthz`, {
    operation: prefix === '' ? 'health' : 'healthV1',
    summary: 'Whether the process runs',
    answer: strictObject({ status: Type.Literal('ok') }),
    handle: async () => ({ body: { status: 'ok' } }),
  }),
  openRoute('GET', `${prefix}/readyz`, {
    operation: prefix === '' ? 'readiness' : 'readinessV1',
    summary: 'Whether the store answers and its schema is at least the one of this service',
    answer: strictObject({ status: Type.Literal('ready') }),
    refusals: ['unavailable'],
    handle: async ({ readiness }) => {
      if ((await readiness.check()) === 'ready') return { body: { status: 'ready' } }
      throw new Refusal(
        'unavailable',
        'The database has an older schema than this service; run keyrail migrate.',
      )
    },
  }),
])
