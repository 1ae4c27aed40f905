import type { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import type { Deps } from './deps.ts'
import { assertAccess, assertEnvReach } from './gate/access.ts'
import type { Principal } from './gate/principal.ts'
import { readReplayKey } from './gate/replay-key.ts'
import { rightOf } from './gate/right.ts'
import { type Answer, parameterOf, type Route } from './gate/route.ts'
import { readSignature, type Signature } from './gate/signature.ts'
import { servePages } from './pages/serve.ts'
import { deadlineMs } from './platform/db/deadline.ts'
import { RightGone } from './platform/db/right.ts'
import { acceptJsonBodies } from './platform/http/body.ts'
import { type BodyTurns, createBodyTurns } from './platform/http/body-turns.ts'
import { clientOf } from './platform/http/client.ts'
import { answerPreflights } from './platform/http/cors.ts'
import { headerValues } from './platform/http/headers.ts'
import type { LargeBodies } from './platform/http/large-bodies.ts'
import { readQuery } from './platform/http/query.ts'
import { logRequests } from './platform/http/request-log.ts'
import { answerProblems, refuseOtherMethods, serverOptions } from './platform/http/server.ts'
import { compile, isUuid } from './platform/http/validate.ts'
import { Refusal } from './platform/refusal.ts'
import { networkOf } from './platform/throttle/client-network.ts'
import { serveReference } from './reference.ts'
import { routes } from './routes.ts'
import { noteRefusals } from './security-events/watch.ts'

declare module 'fastify' {
  interface FastifyRequest {
    principal: Principal | null
    /** Of a body that is still to be read; not verified yet. */
    signature: Signature | null
    /** When the credential was judged, on the monotonic clock in milliseconds. */
    judgedAt: number
    /** Milliseconds that it may still spend on the store. The time that its body takes to arrive is the caller's. */
    storeMs: number
  }
}

/** The service as a Fastify app, not yet listening. Tests speak to it without a socket. */
export async function buildApp(deps: Deps): Promise<FastifyInstance> {
  const app = Fastify(serverOptions(deps))
  app.decorateRequest('principal', null)
  app.decorateRequest('signature', null)
  app.decorateRequest('judgedAt', 0)
  app.decorateRequest('storeMs', deadlineMs)
  answerProblems(app)
  logRequests(app, deps)
  noteRefusals(app, deps)
  acceptJsonBodies(app, deps.jsonThread, ({ principal, ip }) =>
    principal === null ? networkOf(ip) : ownerOf(principal),
  )
  serveReference(app, routes)
  servePages(app, deps)
  const bodyTurns = createBodyTurns()
  for (const route of routes) serve(app, deps, route, bodyTurns)
  answerPreflights(
    app,
    routes.filter(({ plane }) => plane === 'embed').map(({ path }) => path),
  )
  refuseOtherMethods(app)
  return app
}

/** One route: gate, then contract, then handler. */
function serve(app: FastifyInstance, deps: Deps, route: Route, bodyTurns: BodyTurns): void {
  const { access, bodyLimit, reader, signed } = route
  // Anybody can send what is to be verified: it takes no room from those who have a credential.
  const room = access.open ? deps.signedBodies : deps.largeBodies
  const authenticate = route.plane === 'hot' ? deps.authenticateHot : deps.authenticate
  const parameter = parameterOf(route.path)?.slice(1)
  const validateQuery = compile(route.query, 'query')
  const validateBody = route.body === null ? null : compile(route.body, 'body')
  /** Who asks, and may they. Refuses those who may not. */
  const judge = async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    if (access.open) return
    const before = request.principal
    const until = performance.now() + deadlineMs
    request.judgedAt = deps.clock.monotonic()
    request.principal =
      route.plane === 'embed'
        ? await deps.authenticateEmbed(request.raw, request, headers => reply.headers(headers), until)
        : await authenticate(headerValues(request.raw, 'authorization'), request, until)
    request.storeMs = until - performance.now()
    // What was asked for in one workspace is neither done in another nor told by a right there.
    if (access.inWorkspace && before !== null && before.workspaceId !== request.principal.workspaceId)
      throw new Refusal('no_workspace', 'The session has left the workspace in which the request began.')
    const hasOrigin = access.noOrigin === true && headerValues(request.raw, 'origin').length > 0
    assertAccess(request.principal, access, hasOrigin)
  }
  /** Whether the body came so late that what was found of the credential may no longer be true. */
  const isOutdated = ({ principal, judgedAt }: FastifyRequest): boolean => {
    if (principal === null) return false
    const now = deps.clock.monotonic()
    const { reusableUntil = Number.POSITIVE_INFINITY } = principal
    return now >= reusableUntil || now - judgedAt > bodyMsBeforeJudgedAgain
  }
  /**
   * What a request is given to stand on. All its transactions hold its caller's right and have one deadline, but on the
   * request path, where lanes take the time that is left from the call and nothing is made for nothing, and where a
   * password is hashed: there it is the hasher that takes its time. Whoever has no credential does not wait for a
   * connection in the line of others.
   */
  const depsFor = ({ principal, ip }: FastifyRequest, until: number): Deps => {
    if (route.plane === 'hot' || route.plane === 'report') return deps
    if (principal === null) {
      const db = signed === null ? deps.db.forStranger(networkOf(ip)) : deps.db.forService('codehost')
      return { ...deps, db }
    }
    const db = route.plane === 'person' ? deps.db : deps.db.until(until)
    const right = route.method === 'GET' ? null : rightOf(principal, access)
    return { ...deps, db: right === null ? db : db.holding(right) }
  }

  app.route({
    method: route.method,
    url: route.path,
    bodyLimit,
    config: { isBodyRaw: signed !== null, bodyReader: reader?.module ?? null },
    // Before a body is read: who asks, may they, and is there room for it.
    onRequest: async (request, reply) => {
      await judge(request, reply)
      if (signed !== null) {
        request.signature = readSignature(request.raw, signed.headers)
        await signed.admit(deps, request.signature)
      }
      const { principal } = request
      if (principal !== null) {
        const owner = ownerOf(principal)
        room.ownedBy(reply.raw, owner)
        await bodyTurns.take(request.raw, reply.raw, owner)
      }
      room.holdBody(request.raw, reply.raw, bodyLimit)
    },
    handler: async (request, reply) => {
      if (isOutdated(request)) await judge(request, reply)
      const { principal } = request
      const query = readQuery(queryTextOf(request.raw), route.query)
      validateQuery(query)
      // No body at all is `{}`, or no bytes; the body `null` is not.
      const empty = signed !== null ? Buffer.alloc(0) : validateBody !== null ? {} : undefined
      const sent = request.body === undefined ? empty : request.body
      if (!request.isBodyRead) validateBody?.(sent)
      assertEnvReach(principal, query)
      assertEnvReach(principal, sent)
      const body = reader === null || request.isBodyRead ? sent : reader.read(sent)
      // Undefined where the path has none; an empty one is an id too, and malformed.
      const id = parameter === undefined ? undefined : (request.params as Record<string, string>)[parameter]
      if (id !== undefined && !isUuid(id)) throw new Refusal('not_found')
      const replay = route.replayable && principal !== null ? readReplayKey(request, principal, body) : null
      const until = performance.now() + request.storeMs
      const call = {
        principal: principal as Principal,
        id: id?.toLowerCase() ?? '',
        query: query as never,
        body: body as never,
        signature: request.signature,
        until,
        holdBytes: (bytes: number) => room.holdAnswer(reply.raw, bytes),
        replay,
        header: (name: string) => request.headers[name]?.toString(),
        get ip() {
          return request.ip
        },
        client: clientOf(request),
        hangUp: () => hangUpOf(reply),
        judgeAgain: () => judge(request, reply),
      }
      const answer = await route.handle(depsFor(request, until), call).catch(async error => {
        if (!(error instanceof RightGone)) throw error
        // It is told what a new request would be told.
        await judge(request, reply)
        throw new Refusal('unavailable', '', { cause: error })
      })
      return send(reply, route, answer, room)
    },
  })
}

/** In whose name a request takes memory and turns. */
const ownerOf = ({ kind, id, workspaceId }: Principal): string => workspaceId ?? `${kind} ${id}`

/**
 * How long a body may take until its sender's credential is judged again, in milliseconds. Transactions hold the right
 * anyway; this is for what the handlers do without one.
 */
const bodyMsBeforeJudgedAgain = 1_000

/** What a streamed answer holds at once, in bytes: a page of an export. Its stream counts lines, and says 1. */
const streamBytes = 131_072

function send(
  reply: FastifyReply,
  route: Route,
  { body, headers, status, replayed }: Answer,
  room: LargeBodies,
) {
  if (replayed) reply.header('idempotent-replayed', 'true')
  if (headers !== undefined) reply.headers(headers)
  if (status === 304) return reply.code(304).send()
  if (route.answer.type !== undefined) reply.type(route.answer.type)
  else reply.type('application/json; charset=utf-8')
  // Of a HEAD nobody reads the body, and what nobody reads must not be fetched.
  if (reply.request.method === 'HEAD' && body instanceof Readable) {
    body.destroy()
    return reply.code(route.answer.status).send()
  }
  if (body instanceof Readable) {
    try {
      room.holdAnswer(reply.raw, streamBytes)
    } catch (error) {
      // Nobody will read it, and what it holds would be held until it gives up.
      body.destroy()
      throw error
    }
    return reply.code(route.answer.status).send(body)
  }
  const isMade = Buffer.isBuffer(body) || (typeof body === 'string' && route.answer.type !== undefined)
  const payload = isMade ? body : JSON.stringify(body)
  room.holdSent(reply.raw, payload, route.method === 'GET')
  return reply.code(replayed?.status ?? route.answer.status).send(payload)
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
