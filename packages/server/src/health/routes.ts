import { Type } from '@keyrail/contract/schema'
import { strictObject } from '@keyrail/contract/shared'
import { routesFor } from '../gate/make-route.ts'
import type { Route } from '../gate/route.ts'
import { degradations } from '../platform/db/readiness.ts'
import { Refusal } from '../platform/refusal.ts'
import type { HealthNeeds } from './needs.ts'

const { openRoute } = routesFor<HealthNeeds>()

const Ready = strictObject({
  status: Type.Union([Type.Literal('ready'), Type.Literal('degraded')]),
  /** Only with `degraded`. */
  reasons: Type.Optional(
    Type.Array(Type.Union(degradations.map(reason => Type.Literal(reason))), {
      description:
        'With `degraded`. `standby_away`: reads and the feed go on, and changes get 503, since no synchronous standby confirms them.',
    }),
  ),
})

/** Liveness without any I/O, and readiness: the database responds and its schema is new enough. Also under /v1. */
export const healthRoutes: Route<HealthNeeds>[] = ['', '/v1'].flatMap(prefix => [
  openRoute('GET', `${prefix}/healthz`, {
    operation: prefix === '' ? 'health' : 'healthV1',
    probe: true,
    summary: 'Check liveness',
    description: 'Returns 200 while the process runs.',
    answer: strictObject({ status: Type.Literal('ok') }),
    handle: async () => ({ body: { status: 'ok' } }),
  }),
  openRoute('GET', `${prefix}/readyz`, {
    operation: prefix === '' ? 'readiness' : 'readinessV1',
    probe: true,
    summary: 'Check readiness',
    description:
      'Returns 200 while the database responds, is the primary and has a schema that this version can use, and the process is not about to stop. `status` is `degraded`, with `reasons`, while a part of the service fails that another process would not do better.',
    answer: Ready,
    refusals: ['unavailable'],
    handle: async ({ readiness, leaving }) => {
      if (leaving.aborted) throw new Refusal('unavailable', 'This process is about to stop.')
      const found = await readiness.check()
      if (found === 'ready') return { body: { status: found } }
      if (found !== 'schema_behind') return { body: { status: 'degraded', reasons: [found] } }
      throw new Refusal(
        'unavailable',
        'The database has an older schema than this service. Run keyrail migrate.',
      )
    },
  }),
])
