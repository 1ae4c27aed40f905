import type { FastifyInstance } from 'fastify'
import type { Deps } from '../../deps.ts'
import { whenAnswered } from './answered.ts'
import { clientOf, readClients } from './client.ts'

/**
 * One line a request, and its duration in the metrics, both by route template: a raw path or query may
 * carry what does not belong into a log. Address and user agent are what an attack is traced by.
 */
export function logRequests(app: FastifyInstance, { log, metrics }: Deps): void {
  // Its fields are all named here and none is secret; looking for secrets in them was a fifth of a cheap request.
  const lines = log.child({}, { redact: [] })
  readClients(app)
  whenAnswered(app, (request, reply) => {
    const route = request.routeOptions.url ?? 'unknown'
    metrics.requestEnded(request.method, route, reply.statusCode, reply.elapsedTime / 1000)
    const { principal, refusal } = request
    const { ip, userAgent } = clientOf(request)
    const line = {
      request_id: request.id,
      method: request.method,
      route,
      status: reply.statusCode,
      duration_ms: Math.round(reply.elapsedTime * 10) / 10,
      ip,
      ...(userAgent !== null && { user_agent: userAgent }),
      ...(principal && {
        principal: principal.kind,
        principal_id: principal.id,
        workspace_id: principal.workspaceId,
      }),
      ...(refusal && { code: refusal.code }),
    }
    const { cause = null } = refusal ?? {}
    // Told to come back, and nothing else is wrong: an error with a stack, each, would take time when there is least.
    const isTurnedAway = cause === null && refusal?.headers['retry-after'] !== undefined
    if (reply.statusCode === 503 && isTurnedAway) lines.warn(line, 'request turned away')
    else if (reply.statusCode >= 500) log.error({ ...line, err: cause ?? refusal }, 'request failed')
    else lines.info(line, 'request')
  })
}
