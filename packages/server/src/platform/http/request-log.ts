import { errors } from '@keyrail/contract/errors'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { TrustedProxies } from '../network/trusted-proxies.ts'
import type { Logger } from '../observe/log.ts'
import type { Metrics, RequestOutcome } from '../observe/metrics.ts'
import { readTraceParent, type TraceParent } from '../observe/traceparent.ts'
import { type RequestSpan, requestSpan } from '../observe/tracing.ts'
import { ClientGone } from '../refusal.ts'
import { whenAnswered } from './answered.ts'
import { clientOf, readClients } from './client.ts'

interface RequestLogNeeds {
  /** Of answers of hot routes, one in so many is logged at info. */
  readonly config: { readonly logSample: number; readonly trustProxy: TrustedProxies }
  readonly log: Logger
  readonly metrics: Pick<Metrics, 'requestEnded' | 'requestCounted' | 'heldPollEnded'>
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Whether the response waited because the client asked for it. */
    isHeld: boolean
    /** What the caller says about its trace. */
    traceParent: TraceParent | null
    /** Null: nothing is traced. */
    span: RequestSpan | null
  }
  interface FastifyContextConfig {
    /** Each server of a vendor calls the route so often that a sample of its log lines is enough. */
    isHot?: boolean
    /** A monitor calls the route every few seconds: only failures are logged at info. */
    isProbe?: boolean
  }
}

/**
 * Logs one line per request, and records its duration in the metrics unless it was held. Both name the route's template,
 * because a raw path or query may have content that does not belong in a log. Address and user agent help to trace an attack.
 */
export function logRequests(app: FastifyInstance, { config, log, metrics }: RequestLogNeeds): void {
  // All fields are named here and none is secret; searching them for secrets took a fifth of a cheap request.
  const lines = log.child({}, { redact: [] })
  let hotAnswers = 0
  readClients(app, config.trustProxy, log)
  traceRequests(app)
  app.decorateRequest('isHeld', false)
  whenAnswered(app, (request, reply) => {
    const route = routeOf(request)
    if (request.isHeld) metrics.heldPollEnded()
    else metrics.requestEnded(request.method, route, reply.statusCode, reply.elapsedTime / 1000)
    const { principal, refusal } = request
    const { ip, userAgent } = clientOf(request)
    const { traceParent, span } = request
    const traceId = span?.traceId ?? traceParent?.traceId
    span?.end(reply.statusCode)
    const line = {
      request_id: request.id,
      ...(traceId !== undefined && { trace_id: traceId }),
      ...(traceParent !== null && { parent_span_id: traceParent.spanId }),
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
    // Refused for lack of space by a service that is otherwise healthy: to log each such error with a stack would be the
    // largest cost under load.
    const isTurnedAway = cause === null && refusal?.headers['retry-after'] !== undefined
    const { isProbe = false, isHot = false } = request.routeOptions.config
    // An answer in lines may fail after its status was sent.
    const status = refusal === null ? reply.statusCode : Math.max(reply.statusCode, errors[refusal.code][0])
    const outcome = refusal instanceof ClientGone ? 'gone' : outcomeOf(status, isTurnedAway)
    metrics.requestCounted(outcome)
    if (outcome === 'turned_away') lines.warn(line, 'request turned away')
    else if (status >= 500) log.error({ ...line, err: cause ?? refusal }, 'request failed')
    else if (status < 400 && isProbe) lines.debug(line, 'request')
    else if (status >= 400 || config.logSample === 1 || !isHot) lines.info(line, 'request')
    else if (hotAnswers++ % config.logSample === 0)
      lines.info({ ...line, sample: config.logSample }, 'request')
    else lines.debug(line, 'request')
  })
}

function outcomeOf(status: number, isTurnedAway: boolean): RequestOutcome {
  if (status < 500) return 'answered'
  if (status !== 503) return 'failed'
  return isTurnedAway ? 'turned_away' : 'unavailable'
}

/** Reads the trace of each request, and handles the request in a span if there is an SDK of OpenTelemetry. */
function traceRequests(app: FastifyInstance): void {
  app.decorateRequest('traceParent', null)
  app.decorateRequest('span', null)
  app.addHook('onRequest', (request, _reply, done) => {
    request.traceParent = readTraceParent(request.headers.traceparent)
    request.span = requestSpan(request.method, routeOf(request), request.traceParent)
    if (request.span === null) done()
    else request.span.run(done)
  })
  // The body arrives in the events of its socket, which have no span.
  app.addHook('preHandler', (request, _reply, done) => {
    if (request.span === null) done()
    else request.span.run(done)
  })
}

const routeOf = ({ routeOptions }: FastifyRequest): string => routeOptions.url ?? 'unknown'
