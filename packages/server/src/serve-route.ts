import type { IncomingMessage } from 'node:http'
import type { FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import { boundOf } from './bound-of.ts'
import type { Deps } from './deps.ts'
import { assertAccess, assertEnvReach, assertVerified } from './gate/access.ts'
import type { Authenticate } from './gate/authenticate.ts'
import type { InFlight } from './gate/in-flight.ts'
import { ownerOf, type Principal } from './gate/principal.ts'
import { readReplayKey } from './gate/replay-key.ts'
import { parameterOf, type Route } from './gate/route.ts'
import { scopeWarning, warningHeader } from './gate/scope-warnings.ts'
import { readSignature, type Signature } from './gate/signature.ts'
import { assertActsInStated } from './gate/stated-workspace.ts'
import { assertThere } from './gate/targets.ts'
import { placeOf } from './gate/turn-place.ts'
import { Deadline } from './platform/concurrency/deadline.ts'
import type { TurnPlace } from './platform/db/pool/shares.ts'
import { RightGone } from './platform/db/right.ts'
import type { LargeBodies } from './platform/http/body/large-bodies.ts'
import type { BodyTurns } from './platform/http/body/turns.ts'
import type { UnreadBodies } from './platform/http/body/unread.ts'
import { clientOf } from './platform/http/client.ts'
import { headerValues } from './platform/http/headers.ts'
import type { ToProblem } from './platform/http/problem.ts'
import { readQuery } from './platform/http/query.ts'
import { compile, isUuid, type Validate } from './platform/http/validate.ts'
import { Refusal } from './platform/refusal.ts'
import { sendAnswer } from './send-answer.ts'

declare module 'fastify' {
  interface FastifyRequest {
    principal: Principal | null
    /** Where it stands in the queue of its workspace, or among the sessions of its person. */
    place: TurnPlace | undefined
    /** The signature of a body that is not read yet; not verified. */
    signature: Signature | null
    /** When the credential was checked, on the monotonic clock in milliseconds. */
    judgedAt: number
    /** Created before the request is read, and paused while the body arrives, which is the client's time. */
    deadline: Deadline
  }
}

/** What all routes share about requests that are being received or answered. */
interface Shared {
  readonly turns: BodyTurns
  readonly unread: UnreadBodies
  readonly inFlight: InFlight
  readonly toProblem: ToProblem
}

/** One route: gate, then contract, then handler. */
export class ServedRoute {
  readonly #deps: Deps
  readonly #route: Route<Deps>
  readonly #shared: Shared
  /** The memory of its bodies and answers. */
  readonly #memory: LargeBodies
  readonly #authenticate: Authenticate
  readonly #validateQuery: Validate
  readonly #validateBody: Validate | null
  /** The parameter of the path; undefined when it has none. */
  readonly #parameter: string | undefined

  constructor(deps: Deps, route: Route<Deps>, shared: Shared) {
    const { access, body, path, plane, query } = route
    this.#deps = deps
    this.#route = route
    this.#shared = shared
    // Any client can send a body to verify, so such bodies have separate memory from those of authenticated requests.
    this.#memory = access.open ? deps.signedBodies : deps.largeBodies
    this.#authenticate =
      plane === 'hot' ? deps.authenticateHot : plane === 'feed' ? deps.authenticatePoll : deps.authenticate
    this.#validateQuery = compile(query, 'query')
    this.#validateBody = body === null ? null : compile(body, 'body')
    this.#parameter = parameterOf(path)?.slice(1)
  }

  options(): RouteOptions {
    const { method, path, bodyLimit, plane, probe, reader, signed } = this.#route
    return {
      method,
      url: path,
      bodyLimit,
      config: {
        isBodyRaw: signed !== null,
        bodyReader: reader?.module ?? null,
        isHot: plane === 'hot' || plane === 'feed',
        isProbe: probe,
      },
      onRequest: (request, reply) => this.#admit(request, reply),
      handler: (request, reply) => this.#answer(request, reply),
    }
  }

  /** Before the body is read: authentication, access, and memory for the body. */
  async #admit(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const { access, bodyLimit, plane, signed } = this.#route
    request.deadline = new Deadline(this.#deps.budgets.requestMs)
    // A stranger says what the body will cost. A client that sends chunks chooses how small they are.
    if (access.open && request.headers['transfer-encoding'] !== undefined)
      throw new Refusal('length_required')
    await this.#judge(request, reply)
    // The others read through lanes, which have no turns.
    const takesTurns = plane === 'vendor' || plane === 'embed' || plane === 'person'
    if (takesTurns && request.principal !== null)
      request.place = await placeOf(request.principal, this.#deps.makers, request.deadline)
    request.deadline.pause()
    if (Number(request.headers['content-length']) > bodyLimit) throw new Refusal('payload_too_large')
    if (signed !== null) {
      request.signature = readSignature(request.raw, signed.headers)
      await signed.admit(this.#deps, request.signature)
    }
    const { principal } = request
    if (principal !== null) {
      this.#shared.inFlight.enter(principal, this.#route, reply.raw)
      const owner = ownerOf(principal)
      this.#memory.ownedBy(reply.raw, owner, callerIn(principal, request.place))
      await this.#shared.turns.take(request.raw, reply.raw, owner)
    }
    request.holdArrived = this.#memory.holdBody(request.raw, reply.raw, bodyLimit)
    this.#shared.unread.ask(reply.raw)
  }

  async #answer(request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
    const route = this.#route
    if (this.#isOutdated(request)) await this.#judgeAgain(request, reply)
    request.deadline.resume()
    const { query, body } = this.#read(request)
    const call = await this.#callOf(request, reply, { query, body })
    const answer = await route.handle(this.#deps, call).catch(async error => {
      if (!(error instanceof RightGone)) throw error
      // The response is the one that a new request would get.
      await this.#judgeAgain(request, reply)
      throw new Refusal('unavailable', '', { cause: error })
    })
    const warning = scopeWarning(route, body)
    if (warning !== null) reply.header(warningHeader, warning)
    return sendAnswer(reply, route, answer, this.#memory, this.#shared.toProblem)
  }

  /** Query and body as the handler takes them. */
  #read(request: FastifyRequest): { query: unknown; body: unknown } {
    const { query: schema, reader, signed } = this.#route
    const query = readQuery(queryTextOf(request.raw), schema)
    this.#validateQuery(query)
    // A missing body is `{}`, or no bytes; the body `null` is not.
    const empty = signed !== null ? Buffer.alloc(0) : this.#validateBody !== null ? {} : undefined
    const sent = request.body === undefined ? empty : request.body
    if (!request.isBodyRead) this.#validateBody?.(sent)
    assertEnvReach(request.principal, query)
    assertEnvReach(request.principal, sent)
    return { query, body: reader === null || request.isBodyRead ? sent : reader.read(sent) }
  }

  async #callOf(
    request: FastifyRequest,
    reply: FastifyReply,
    { query, body }: { query: unknown; body: unknown },
  ) {
    const { replayable, answer } = this.#route
    const { principal } = request
    const id = await this.#idOf(request)
    const replay =
      replayable && principal !== null ? readReplayKey(request, principal, body, answer.status) : null
    const holdBytes = (bytes: number) => this.#memory.holdAnswer(reply.raw, bytes)
    return {
      principal: principal as Principal,
      id,
      query: query as never,
      body: body as never,
      signature: request.signature,
      deadline: request.deadline,
      // Not a getter of this literal: V8 would keep the call and its request until the next full collection.
      db: this.#deps.pool.bind(() => boundOf(this.#route, request, holdBytes)),
      holdBytes,
      replay,
      header: (name: string) => request.headers[name]?.toString(),
      client: clientOf(request),
      problemOf: (refusal: Refusal) => this.#shared.toProblem(refusal, request.id, true),
      hangUp: () => hangUpOf(reply),
      hold: () => {
        request.isHeld = true
      },
      judgeAgain: () => this.#judgeAgain(request, reply),
    }
  }

  /** The id of the path, which exists where the route says what it names; empty when the path has none. */
  async #idOf({ params, principal, deadline }: FastifyRequest): Promise<string> {
    const { target } = this.#route
    // Undefined when the path has no parameter; an empty one is a malformed id.
    const id = this.#parameter === undefined ? undefined : (params as Record<string, string>)[this.#parameter]
    if (id !== undefined && !isUuid(id)) throw new Refusal('not_found')
    if (target !== null && principal !== null)
      await assertThere(this.#deps.targets, target, principal, id ?? '', deadline)
    return id?.toLowerCase() ?? ''
  }

  /** Authenticates the request and checks its access. */
  async #judge(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const { access, plane } = this.#route
    const deps = this.#deps
    if (access.open) return
    const { principal: before, deadline } = request
    request.judgedAt = deps.clock.monotonic()
    const from = { ip: clientOf(request).ip, url: request.url }
    request.principal =
      plane === 'embed'
        ? await deps.authenticateEmbed(request.raw, from, headers => reply.headers(headers), deadline)
        : await this.#authenticate(headerValues(request.raw, 'authorization'), from, deadline)
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
  #judgeAgain(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    request.deadline.renew()
    return this.#judge(request, reply)
  }

  /** Whether the body arrived so late that the result of the authentication may be outdated. */
  #isOutdated({ principal, judgedAt }: FastifyRequest): boolean {
    if (principal === null) return false
    const now = this.#deps.clock.monotonic()
    const { reusableUntil = Number.POSITIVE_INFINITY } = principal
    return now >= reusableUntil || now - judgedAt > bodyMsBeforeJudgedAgain
  }
}

/** Who of a workspace sends large bodies and gets large answers. Live keys of its servers have all of its room, test keys half. */
const callerIn = ({ reach }: Principal, place: TurnPlace | undefined): string | undefined => {
  if (place === undefined) return reach === 'test' ? 'test keys' : undefined
  return place.isMinor ? 'tenants' : place.path[0]
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
