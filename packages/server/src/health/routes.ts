import { healthRoutes } from '@keyrail/contract/routes/health'
import { servedWith } from '../gate/serve.ts'
import type { Readiness } from '../platform/db/failover/readiness.ts'
import { Refusal } from '../platform/refusal.ts'

/** What the routes of this room need from outside; `deps.ts` has it. */
interface HealthNeeds {
  readonly readiness: Readiness
  /** Aborted when the process is about to stop. */
  readonly leaving: AbortSignal
}

const serve = servedWith<HealthNeeds>()

const health = { probe: true, handle: async () => ({ body: { status: 'ok' } }) }
const readiness = {
  probe: true,
  async handle({ readiness, leaving }: HealthNeeds) {
    if (leaving.aborted) throw new Refusal('unavailable', 'This process is about to stop.')
    const found = await readiness.check()
    if (found === 'ready') return { body: { status: found } }
    if (found !== 'schema_behind') return { body: { status: 'degraded', reasons: [found] } }
    throw new Refusal(
      'unavailable',
      'The database has an older schema than this service. Run keyrail migrate.',
    )
  },
}

export const routes = serve(healthRoutes, {
  'GET /healthz': health,
  'GET /readyz': readiness,
  'GET /v1/healthz': health,
  'GET /v1/readyz': readiness,
})
