import type { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import Fastify, { type FastifyInstance, type FastifyReply } from 'fastify'
import type { Deps } from './deps.ts'
import { assertAccess, assertEnvReach } from './gate/access.ts'
import type { Principal } from './gate/principal.ts'
import { readReplayKey } from './gate/replay-key.ts'
import { type Answer, parameterOf, type Route } from './gate/route.ts'
import { readSignature, type Signature } from './gate/signature.ts'
import { servePages } from './pages/serve.ts'
import { deadlineMs } from './platform/db/deadline.ts'
import { acceptJsonBodies } from './platform/http/body.ts'
import { answerPreflights } from './platform/http/cors.ts'
import { headerValues } from './platform/http/headers.ts'
import { readQuery } from './platform/http/query.ts'
import { logRequests } from './platform/http/request-log.ts'
import { answerProblems, refuseOtherMethods, serverOptions } from './platform/http/server.ts'
import { compile, isUuid } from './platform/http/validate.ts'
import { Refusal } from './platform/refusal.ts'
import { serveReference } from './reference.ts'
import { routes } from './routes.ts'

declare module 'fastify' {
  interface FastifyRequest {
    principal: Principal | null
    /** Of a body that is still to be read; not verified yet. */
    signature: Signature | null
    /** Milliseconds that it may still spend on the store. The time that its body takes to arrive is the caller's. */
    storeMs: number
  }
}

/** The service as a Fastify app, not yet listening. Tests speak to it without a socket. */
export async function buildApp(deps: Deps): Promise<FastifyInstance> {
  const app = Fastify(serverOptions(deps))
  app.decorateRequest('principal', null)
  app.decorateRequest('signature', null)
  app.decorateRequest('storeMs', deadlineMs)
  answerProblems(app)
  logRequests(app, deps)
  acceptJsonBodies(app)
  serveReference(app, routes)
  servePages(app, deps)
  for (const route of routes) serve(app, deps, route)
  answerPreflights(
    app,
    routes.filter(({ plane }) => plane === 'embed').map(({ path }) => path),
  )
  refuseOtherMethods(app)
  return app
}

/** One route: gate, then contract, then handler. */
function serve(app: FastifyInstance, deps: Deps, route: Route): void {
  const { access, bodyLimit, signed } = route
  // Anybody can send what is to be verified: it takes no room from those who have a credential.
  const room = signed === null ? deps.largeBodies : deps.signedBodies
  const authenticate = route.plane === 'hot' ? deps.authenticateHot : deps.authenticate
  const parameter = parameterOf(route.path)?.slice(1)
  const validateQuery = compile(route.query, 'query')
  const validateBody = route.body === null ? null : compile(route.body, 'body')
  app.route({
    method: route.method,
    url: route.path,
    bodyLimit,
    config: { isBodyRaw: signed !== null },
    // Before a body is read: who asks, may they, and is there room for it.
    onRequest: async (request, reply) => {
      if (!access.open) {
        const until = performance.now() + deadlineMs
        request.principal =
          route.plane === 'embed'
            ? await deps.authenticateEmbed(request.raw, headers => reply.headers(headers), until)
            : await authenticate(headerValues(request.raw, 'authorization'), until)
        request.storeMs = until - performance.now()
        const hasOrigin = access.noOrigin === true && headerValues(request.raw, 'origin').length > 0
        assertAccess(request.principal, access, hasOrigin)
      }
      if (signed !== null) request.signature = readSignature(request.raw, signed.headers)
      room.holdBody(request.raw, reply.raw, bodyLimit)
    },
    handler: async (request, reply) => {
      const { principal } = request
      const query = readQuery(queryTextOf(request.raw), route.query)
      validateQuery(query)
      // No body at all is `{}`, or no bytes; the body `null` is not.
      const empty = signed !== null ? Buffer.alloc(0) : validateBody !== null ? {} : undefined
      const body = request.body === undefined ? empty : request.body
      validateBody?.(body)
      assertEnvReach(principal, query)
      assertEnvReach(principal, body)
      // Undefined where the path has none; an empty one is an id too, and malformed.
      const id = parameter === undefined ? undefined : (request.params as Record<string, string>)[parameter]
      if (id !== undefined && !isUuid(id)) throw new Refusal('not_found')
      const replay = route.replayable && principal !== null ? readReplayKey(request, principal, body) : null
      const until = performance.now() + request.storeMs
      const own = sharesDeadline(route) ? { ...deps, db: deps.db.until(until) } : deps
      const answer = await route.handle(own, {
        principal: principal as Principal,
        id: id?.toLowerCase() ?? '',
        query: query as never,
        body: body as never,
        signature: request.signature,
        until,
        holdBytes: bytes => room.holdAnswer(reply.raw, bytes),
        replay,
        header: name => request.headers[name]?.toString(),
        get ip() {
          return request.ip
        },
        hangUp: () => hangUpOf(reply),
      })
      return send(reply, route, answer)
    },
  })
}

/**
 * Whether all transactions of a request have one deadline. On the request path lanes take the time that is left from the
 * call, and nothing is made for nothing; where a password is hashed, it is the hasher that takes its time.
 */
const sharesDeadline = ({ plane }: Route) => plane === 'vendor' || plane === 'feed' || plane === 'embed'

function send(reply: FastifyReply, route: Route, { body, headers, status, replayed }: Answer) {
  if (replayed) reply.header('idempotent-replayed', 'true')
  reply.header('cache-control', 'no-store')
  if (headers !== undefined) reply.headers(headers)
  if (status === 304) return reply.code(304).send()
  if (route.answer.type !== undefined) reply.type(route.answer.type)
  else if (Buffer.isBuffer(body)) reply.type('application/json; charset=utf-8')
  // Of a HEAD nobody reads the body, and what nobody reads must not be fetched.
  if (reply.request.method === 'HEAD' && body instanceof Readable) {
    body.destroy()
    return reply.code(route.answer.status).send()
  }
  return reply.code(replayed?.status ?? route.answer.status).send(body)
}

/** The request itself ends when it has been read; it is the answer's end that tells of a caller who is gone. */
function hangUpOf({ raw }: FastifyReply): AbortSignal {
  const gone = new AbortController()
  raw.once('close', () => {
    // It closes after its last byte as well, and an abort makes an error with a stack that nobody would read.
    if (!raw.writableFinished) gone.abort()
  })
  return gone.signal
}

const queryTextOf = (request: IncomingMessage): string => {
  const url = request.url ?? ''
  const cut = url.indexOf('?')
  return cut === -1 ? '' : url.slice(cut + 1)
}
