import { Alive, Ready } from '../health.ts'
import { declareRoutes } from './declare.ts'

const health = {
  plane: 'open',
  summary: 'Check liveness',
  description: 'Returns 200 while the process runs.',
  answer: Alive,
} as const
const readiness = {
  plane: 'open',
  summary: 'Check readiness',
  description:
    'Returns 200 while the database responds, is the primary and has a schema that this version can use, and the process is not about to stop. `status` is `degraded`, with `reasons`, while a part of the service fails that another process would not do better.',
  answer: Ready,
  refusals: ['unavailable'],
} as const

export const healthRoutes = declareRoutes({
  'GET /healthz': { ...health, operation: 'health' },
  'GET /readyz': { ...readiness, operation: 'readiness' },
  'GET /v1/healthz': { ...health, operation: 'healthV1' },
  'GET /v1/readyz': { ...readiness, operation: 'readinessV1' },
})
