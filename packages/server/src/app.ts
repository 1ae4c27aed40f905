import type { IncomingMessage } from 'node:http'
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { serveDashboard } from './dashboard/serve.ts'
import type { Deps } from './deps.ts'
import { assertAccess, assertEnvReach, assertVerified } from './gate/access.ts'
import { createInFlight, type InFlight } from './gate/in-flight.ts'
import { ownerOf, type Principal } from './gate/principal.ts'
import { readReplayKey } from './gate/replay-key.ts'
import { rightOf } from './gate/right.ts'
import { parameterOf, type Route } from './gate/route.ts'
import { scopeWarning, warningHeader } from './gate/scope-warnings.ts'
import { readSignature, type Signature } from './gate/signature.ts'
import { assertActsInStated } from './gate/stated-workspace.ts'
import { assertThere } from './gate/targets.ts'
import { placeOf } from './gate/turn-place.ts'
import type { Bound } from './platform/db/db.ts'
import type { Line, Place } from './platform/db/lines.ts'
import type { HoldRows } from './platform/db/list-leg.ts'
import { RightGone } from './platform/db/right.ts'
import { Deadline } from './platform/deadline.ts'
import { acceptJsonBodies } from './platform/http/body.ts'
import { type BodyTurns, createBodyTurns } from './platform/http/body-turns.ts'
import { clientOf } from './platform/http/client.ts'
import { answerPreflights } from './platform/http/cors.ts'
import { headerValues } from './platform/http/headers.ts'
import { problemsOf, type ToProblem } from './platform/http/problem.ts'
import { readQuery } from './platform/http/query.ts'
import { logRequests } from './platform/http/request-log.ts'
import { answerProblems, refuseOtherMethods, serverOptions } from './platform/http/server.ts'
import { leaveBodiesUnread, type UnreadBodies } from './platform/http/unread-bodies.ts'
import { compile, isUuid } from './platform/http/validate.ts'
import { networkOf } from './platform/network/client-network.ts'
import { Refusal } from './platform/refusal.ts'
import { serveReference } from './reference.ts'
import { routes } from './routes.ts'
import { noteRefusals } from './security-events/watch.ts'
import { sendAnswer } from './send-answer.ts'
import { countRequests } from './workspace/count-requests.ts'

declare module 'fastify' {
  interface FastifyRequest {
    principal: Principal | null
    /** Where it stands in the line of its workspace, or among the sessions of its person. */
    place: Place | undefined
    /** The signature of a body that is not read yet; not verified. */
    signature: Signature | null
    /** When the credential was checked, on the monotonic clock in milliseconds. */
    judgedAt: number
    /** Created before the request is read, and paused while the body arrives, which is the client's time. */
    deadline: Deadline
  }
}

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
  const shared = { turns: createBodyTurns(), unread: unreadBodies, inFlight: createInFlight(), toProblem }
  for (const route of routes) serve(app, deps, route, shared)
  answerPreflights(
    app,
    routes.filter(({ plane }) => plane === 'embed').map(({ path }) => path),
  )
  refuseOtherMethods(app)
  return app
}

/** What all routes share about requests that are being received or answered. */
interface Shared {
  readonly turns: BodyTurns
  readonly unread: UnreadBodies
  readonly inFlight: InFlight
  readonly toProblem: ToProblem
}

/** One route: gate, then contract, then handler. */
function serve(app: FastifyInstance, deps: Deps, route: Route<Deps>, shared: Shared): void {
  const { access, bodyLimit, reader, signed } = route
  // Any client can send a body to verify, so such bodies have separate memory from those of authenticated requests.
  const room = access.open ? deps.signedBodies : deps.largeBodies
  const { plane } = route
  const authenticate =
    plane === 'hot' ? deps.authenticateHot : plane === 'feed' ? deps.authenticatePoll : deps.authenticate
  // The others read through lanes, which have no turns.
  const takesTurns = plane === 'vendor' || plane === 'embed' || plane === 'person'
  const parameter = parameterOf(route.path)?.slice(1)
  const validateQuery = compile(route.query, 'query')
  const validateBody = route.body === null ? null : compile(route.body, 'body')
  /** Authenticates the request and checks its access. */
  const judge = async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    if (access.open) return
    const { principal: before, deadline } = request
    request.judgedAt = deps.clock.monotonic()
    const from = { ip: clientOf(request).ip, url: request.url }
    request.principal =
      route.plane === 'embed'
        ? await deps.authenticateEmbed(request.raw, from, headers => reply.headers(headers), deadline)
        : await authenticate(headerValues(request.raw, 'authorization'), from, deadline)
    // Before the role, which is one of the workspace that the caller did not mean.
    assertActsInStated(request.raw, request.principal)
    // A request that began in one workspace must not run in another one, or be authorized by a role there.
    if (access.inWorkspace && before !== null && before.workspaceId !== request.principal.workspaceId)
      throw new Refusal('no_workspace', 'The session has left the workspace in which the request began.')
    const hasOrigin = access.noOrigin === true && headerValues(request.raw, 'origin').length > 0
    assertAccess(request.principal, access, hasOrigin)
    if (deps.config.signUp !== 'open') assertVerified(request.principal, access)
  }
  /** After the client or the handler has waited, maybe for long: renews the deadline and checks the credential again. */
  const judgeAgain = (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    request.deadline.renew()
    return judge(request, reply)
  }
  /** Whether the body arrived so late that the result of the authentication may be outdated. */
  const isOutdated = ({ principal, judgedAt }: FastifyRequest): boolean => {
    if (principal === null) return false
    const now = deps.clock.monotonic()
    const { reusableUntil = Number.POSITIVE_INFINITY } = principal
    return now >= reusableUntil || now - judgedAt > bodyMsBeforeJudgedAgain
  }
  /**
   * The deadline, right and queue of a request's transactions. A mutation holds the right of its caller, except on `hot`
   * and `report` routes, and is answered with what the synchronous standby has. All transactions share one deadline,
   * except on a person's routes: hashing a password takes long, so each transaction there gets a new one. A request
   * without a credential waits for a connection in a separate queue.
   */
  const boundOf = (request: FastifyRequest, holdRows: HoldRows): Bound => {
    const { principal, place, deadline } = request
    const isOnRequestPath = route.plane === 'hot' || route.plane === 'report'
    const isMutation = !isOnRequestPath && route.method !== 'GET'
    const { ip } = clientOf(request)
    if (principal === null) {
      const line: Line = signed === null ? { kind: 'stranger', ip } : { kind: 'service', name: 'codehost' }
      const sender = signed !== null && { sender: { kind: 'codehost', id: null, ip } }
      return { deadline: null, right: null, line, isConfirmed: isMutation, holdRows, ...sender }
    }
    return {
      deadline: route.plane === 'person' ? null : deadline,
      right: isMutation ? rightOf(principal, access) : null,
      // What ends a right does not wait behind what the right is used for. A person's own rights are no workspace's.
      line: route.endsRights
        ? { kind: 'party', name: `ends ${partyOf(principal)}`, ...(place && { place }) }
        : null,
      ...(place && { place }),
      isConfirmed: isMutation,
      holdRows,
      ...(isMutation && { sender: { kind: principal.kind, id: principal.id, ip } }),
    }
  }

  /** Who of a workspace sends large bodies and gets large answers. Live keys of its servers have all of its room, test keys half. */
  const callerIn = ({ reach }: Principal, place: Place | undefined): string | undefined => {
    if (place === undefined) return reach === 'test' ? 'test keys' : undefined
    return place.isMinor ? 'tenants' : place.path[0]
  }

  const partyOf = (principal: Principal): string =>
    plane === 'person' ? `user ${principal.id}` : ownerOf(principal)

  app.route({
    method: route.method,
    url: route.path,
    bodyLimit,
    config: {
      isBodyRaw: signed !== null,
      bodyReader: reader?.module ?? null,
      isHot: route.plane === 'hot' || route.plane === 'feed',
      isProbe: route.probe,
    },
    // Before the body is read: authentication, access, and memory for the body.
    onRequest: async (request, reply) => {
      request.deadline = new Deadline(deps.budgets.requestMs)
      // A stranger says what the body will cost. A client that sends chunks chooses how small they are.
      if (access.open && request.headers['transfer-encoding'] !== undefined)
        throw new Refusal('length_required')
      await judge(request, reply)
      if (takesTurns && request.principal !== null)
        request.place = await placeOf(request.principal, deps.makers, request.deadline)
      request.deadline.pause()
      if (Number(request.headers['content-length']) > bodyLimit) throw new Refusal('payload_too_large')
      if (signed !== null) {
        request.signature = readSignature(request.raw, signed.headers)
        await signed.admit(deps, request.signature)
      }
      const { principal } = request
      if (principal !== null) {
        shared.inFlight.enter(principal, route, reply.raw)
        const owner = ownerOf(principal)
        room.ownedBy(reply.raw, owner, callerIn(principal, request.place))
        await shared.turns.take(request.raw, reply.raw, owner)
      }
      request.holdArrived = room.holdBody(request.raw, reply.raw, bodyLimit)
      shared.unread.ask(reply.raw)
    },
    handler: async (request, reply) => {
      if (isOutdated(request)) await judgeAgain(request, reply)
      request.deadline.resume()
      const { principal } = request
      const query = readQuery(queryTextOf(request.raw), route.query)
      validateQuery(query)
      // A missing body is `{}`, or no bytes; the body `null` is not.
      const empty = signed !== null ? Buffer.alloc(0) : validateBody !== null ? {} : undefined
      const sent = request.body === undefined ? empty : request.body
      if (!request.isBodyRead) validateBody?.(sent)
      assertEnvReach(principal, query)
      assertEnvReach(principal, sent)
      const body = reader === null || request.isBodyRead ? sent : reader.read(sent)
      // Undefined when the path has no parameter; an empty one is a malformed id.
      const id = parameter === undefined ? undefined : (request.params as Record<string, string>)[parameter]
      if (id !== undefined && !isUuid(id)) throw new Refusal('not_found')
      if (route.target !== null && principal !== null)
        await assertThere(deps.targets, route.target, principal, id ?? '', request.deadline)
      const replay =
        route.replayable && principal !== null
          ? readReplayKey(request, principal, body, route.answer.status)
          : null
      const holdBytes = (bytes: number) => room.holdAnswer(reply.raw, bytes)
      const call = {
        principal: principal as Principal,
        id: id?.toLowerCase() ?? '',
        query: query as never,
        body: body as never,
        signature: request.signature,
        deadline: request.deadline,
        get db() {
          return deps.pool.bind(boundOf(request, holdBytes))
        },
        holdBytes,
        replay,
        header: (name: string) => request.headers[name]?.toString(),
        client: clientOf(request),
        hangUp: () => hangUpOf(reply),
        hold: () => {
          request.isHeld = true
        },
        judgeAgain: () => judgeAgain(request, reply),
      }
      const answer = await route.handle(deps, call).catch(async error => {
        if (!(error instanceof RightGone)) throw error
        // The response is the one that a new request would get.
        await judgeAgain(request, reply)
        throw new Refusal('unavailable', '', { cause: error })
      })
      const warning = scopeWarning(route, body)
      if (warning !== null) reply.header(warningHeader, warning)
      return sendAnswer(reply, route, answer, room, shared.toProblem)
    },
  })
}

/**
 * How long a body may take before the credential of its sender is checked again, in milliseconds. Transactions hold the
 * right in any case; this covers handlers that do something without one.
 */
const bodyMsBeforeJudgedAgain = 1_000

/** A request closes once it is read, so only the close of the response shows that the client has disconnected. */
function hangUpOf({ raw }: FastifyReply): AbortSignal {
  const gone = new AbortController()
  raw.once('close', () => {
    // The response also closes after its last byte. An abort then would create an error with a stack for nothing.
    if (!raw.writableFinished) gone.abort()
  })
  return gone.signal
}

const queryTextOf = (request: IncomingMessage): string => {
  const url = request.url ?? ''
  const cut = url.indexOf('?')
  return cut === -1 ? '' : url.slice(cut + 1)
}
