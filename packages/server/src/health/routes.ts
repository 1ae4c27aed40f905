import { Type } from '@keyrail/contract/schema'
import { strictObject } from '@keyrail/contract/shared'
import { routesFor } from '../gate/make-route.ts'
import type { Route } from '../gate/route.ts'
import { Refusal } from '../platform/refusal.ts'
import type { HealthNeeds } from './needs.ts'

const { openRoute } = routesFor<HealthNeeds>()

/** Liveness without any I/O, and readiness: the database responds and its schema is new enough. Also under /v1. */
export const healthRoutes: Route<HealthNeeds>[] = ['', '/v1'].flatMap(prefix => [
  openRoute('GET', `${prefix}/healthz`, {
    operation: prefix === '' ? 'health' : 'healthV1',
    summary: 'Check liveness',
    description: 'Returns 200 while the process runs.',
    answer: strictObject({ status: Type.Literal('ok') }),
    handle: async () => ({ body: { status: 'ok' } }),
  }),
  openRoute('GET', `${prefix}/readyz`, {
    operation: prefix === '' ? 'readiness' : 'readinessV1',
    summary: 'Check readiness',
    description:
      'Returns 200 while the database responds, is the primary and has a schema that this version can use, and the process is not about to stop.',
    answer: strictObject({ status: Type.Literal('ready') }),
    refusals: ['unavailable'],
    handle: async ({ readiness, leaving }) => {
      if (leaving.aborted) throw new Refusal('unavailable', 'This process is about to stop.')
      if ((await readiness.check()) === 'ready') return { body: { status: 'ready' } }
      throw new Refusal(
        'unavailable',
        'The database has an older schema than this service. Run keyrail migrate.',
      )
    },
  }),
])
