import Fastify, { type FastifyInstance } from 'fastify'
import { serveDashboard } from './dashboard/serve.ts'
import type { Deps } from './deps.ts'
import { createInFlight } from './gate/in-flight.ts'
import { ownerOf } from './gate/principal.ts'
import type { Deadline } from './platform/concurrency/deadline.ts'
import { acceptJsonBodies } from './platform/http/body/body.ts'
import { createBodyTurns } from './platform/http/body/turns.ts'
import { leaveBodiesUnread } from './platform/http/body/unread.ts'
import { clientOf } from './platform/http/client.ts'
import { answerPreflights } from './platform/http/cors.ts'
import { problemsOf } from './platform/http/problem.ts'
import { logRequests } from './platform/http/request-log.ts'
import { answerProblems, refuseOtherMethods, serverOptions } from './platform/http/server.ts'
import { networkOf } from './platform/network/client-network.ts'
import { serveReference } from './reference.ts'
import { routes } from './routes.ts'
import { noteRefusals } from './security-events/watch.ts'
import { ServedRoute } from './serve-route.ts'
import { countRequests } from './workspace/count-requests.ts'

/** The service as a Fastify app, not yet listening. Tests call it without a socket. */
export async function buildApp(deps: Deps): Promise<FastifyInstance> {
  const app = Fastify(serverOptions(deps))
  app.decorateRequest('principal', null)
  app.decorateRequest('place', undefined)
  app.decorateRequest('signature', null)
  app.decorateRequest('judgedAt', 0)
  app.decorateRequest('deadline', null as unknown as Deadline)
  const toProblem = problemsOf(deps.config.publicUrl)
  answerProblems(app, toProblem)
  logRequests(app, deps)
  noteRefusals(app, deps)
  countRequests(app, deps.workspaceLoads)
  const unreadBodies = leaveBodiesUnread(app)
  acceptJsonBodies(app, deps.jsonThread, request =>
    request.principal === null ? networkOf(clientOf(request).ip) : ownerOf(request.principal),
  )
  serveReference(app, routes)
  serveDashboard(app, deps)
  const inFlight = createInFlight(deps.config.processes)
  const shared = { turns: createBodyTurns(), unread: unreadBodies, inFlight, toProblem }
  for (const route of routes) app.route(new ServedRoute(deps, route, shared).options())
  answerPreflights(
    app,
    routes.filter(({ plane }) => plane === 'embed').map(({ path }) => path),
  )
  refuseOtherMethods(app)
  return app
}
