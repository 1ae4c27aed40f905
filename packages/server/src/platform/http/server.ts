/**
 * HTTP below the routes. `server.ts` listens, `sockets.ts` bounds connections (`quiet-sockets.ts`: those without a
 * request; `stop-listening.ts`: at the end), `certificate.ts` follows its files. `headers.ts`, `query.ts`, `user-agent.ts` and
 * `client.ts` read a request, `validate.ts` compares it with its schema, `body/` its body. `cors.ts` lets pages read,
 * `problem.ts` makes the error, with names as `shown-name.ts` shows them, `serve-static.ts` and `tagged-body.ts` answer unchanged
 * things with 304, `answered.ts` tells when an answer ended, `request-log.ts` writes one line.
 */

import type { RequestListener, Server, ServerOptions, ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { Socket } from 'node:net'
import type { FastifyHttpOptions, FastifyInstance, FastifyReply } from 'fastify'
import type { TrustedProxies } from '../network/trusted-proxies.ts'
import type { Logger } from '../observe/log.ts'
import type { Metrics } from '../observe/metrics.ts'
import { Refusal } from '../refusal.ts'
import { followCertificate, readCertificate, tlsOptions } from './certificate.ts'
import { headerValues, safeHeaders } from './headers.ts'
import { problemsOf, type ToProblem, toRefusal } from './problem.ts'
import { boundConnections, boundSockets, socketLimits } from './sockets.ts'

/** Not imported: an `import` reads every export of the module, also those that load Node's `fetch`, in 30 ms. */
const { createServer, METHODS } = process.getBuiltinModule('node:http')

/** All methods that Node's parser accepts as a request. A CONNECT never becomes a request. */
const methods = METHODS.filter(method => method !== 'CONNECT')

/** Times in ms. `sockets.ts` limits bodies by how much has arrived; Node's own limit is longer than all limits there. */
const headMs = 5_000
const requestMs = 60_000
const lookMs = 1_000
const keptAliveMs = 72_000
/** How long a client that sent an invalid request has to read the response. */
const answerReadMs = 5_000
/** For a TLS handshake. */
const handshakeMs = 5_000

interface ServerNeeds {
  readonly config: {
    readonly trustProxy: TrustedProxies
    readonly maxConnections: number
    readonly databasePool: number
    readonly publicUrl: string
    readonly tlsCertFile: string | null
    readonly tlsKeyFile: string | null
  }
  readonly log: Logger
  readonly metrics: Pick<Metrics, 'connectionRefused' | 'watch'>
  /** How long an idle connection is kept once the server closes, which is read then. */
  readonly kept: { readonly ms: number }
  readonly randomBytes: (size: number) => Buffer
}

/** `validate.ts` judges requests, so Fastify need not load its two compilers of schemas, in 14 ms. */
const refuseSchema = (): never => {
  throw new Error('Fastify compiles no schema here: validate.ts does.')
}

/** Fastify's options for this service: limited times and sizes, our own ids, no trust in headers. */
export function serverOptions({
  config,
  log,
  metrics,
  kept,
  randomBytes,
}: ServerNeeds): FastifyHttpOptions<Server> {
  const toProblem = problemsOf(config.publicUrl)
  return {
    logger: false,
    schemaController: { compilersFactory: { buildValidator: refuseSchema, buildSerializer: refuseSchema } },
    // An inbound x-request-id is ignored, because it is not trustworthy.
    requestIdHeader: false,
    genReqId: requestIds(randomBytes),
    serverFactory: handler => {
      const limits = {
        ...socketLimits,
        get keptMs() {
          return kept.ms
        },
      }
      const sockets = boundSockets(handler, limits, refusePipelined(randomBytes, toProblem))
      const server = openServer(config, log, metrics, sockets.listener)
      sockets.watch(server)
      boundConnections(server, config, log, metrics)
      return server
    },
    // `sockets.ts` ends kept connections.
    forceCloseConnections: false,
    // Fastify's own 503 is not a problem body. A request that has already arrived is still served during the close.
    return503OnClosing: false,
    // As long as a request line may be: an overlong id is refused like any other unknown id.
    routerOptions: {
      maxParamLength: 16_384,
      caseSensitive: true,
      ignoreTrailingSlash: false,
      // `query.ts` reads a route's parameters and refuses repeated ones.
      querystringParser: () => ({}),
    },
    frameworkErrors: (error, request, reply) => {
      const problem = toProblem(toRefusal(error), request.id)
      reply.headers({ ...safeHeaders, 'x-request-id': request.id }).type('application/problem+json')
      return (reply as FastifyReply).code(problem.status).send(problem)
    },
    clientErrorHandler: answerClientError(randomBytes, toProblem),
  }
}

export const nodeOptions: ServerOptions = {
  headersTimeout: headMs,
  requestTimeout: requestMs,
  connectionsCheckingInterval: lookMs,
  keepAliveTimeout: keptAliveMs,
  maxHeaderSize: 16_384,
  // Node's own response to a missing Host has no body; `answerProblems` sends one.
  requireHostHeader: false,
}

/** A server for plain HTTP, or for TLS if the settings name a certificate, of which it follows the files. */
function openServer(
  { tlsCertFile, tlsKeyFile, publicUrl }: ServerNeeds['config'],
  log: Logger,
  metrics: Pick<Metrics, 'watch'>,
  listener: RequestListener,
): Server {
  let expiresAt = 0
  metrics.watch({
    name: 'keyrail_tls_certificate_expiry_timestamp_seconds',
    help: 'When the certificate that the service shows expires; 0: it speaks no TLS.',
    gathered: 'min',
    read: () => [{ value: expiresAt }],
  })
  if (tlsCertFile === null || tlsKeyFile === null) return createServer(nodeOptions, listener)
  const files = { certFile: tlsCertFile, keyFile: tlsKeyFile }
  const first = readCertificate(files)
  log.info({ names: first.names, not_after: first.notAfter }, 'certificate read')
  expiresAt = first.notAfter.getTime() / 1_000
  const { cert, key } = first
  const server = createTlsServer(
    { ...nodeOptions, ...tlsOptions, cert, key, handshakeTimeout: handshakeMs },
    isOnlyHttps(publicUrl) ? withStrictTransport(listener) : listener,
  )
  // Open connections keep the certificate with which they began.
  const stop = followCertificate(
    files,
    first,
    next => {
      server.setSecureContext({ ...tlsOptions, cert: next.cert, key: next.key })
      expiresAt = next.notAfter.getTime() / 1_000
    },
    log,
  )
  return server.once('close', stop)
}

/** Other programs on this machine share the name localhost. */
const isOnlyHttps = (publicUrl: string) =>
  publicUrl.startsWith('https:') && new URL(publicUrl).hostname !== 'localhost'

/** A year, as ASVS requires. */
const strictTransport = 'max-age=31536000; includeSubDomains'

const withStrictTransport =
  (listener: RequestListener): RequestListener =>
  (request, response) => {
    response.setHeader('strict-transport-security', strictTransport)
    listener(request, response)
  }

const idBytes = 12
/** Draws random bytes for this many requests at once: a draw costs more than the id. */
const idsADraw = 256

function requestIds(randomBytes: (size: number) => Buffer): () => string {
  let drawn: Buffer = Buffer.alloc(0)
  let at = 0
  return () => {
    if (at === drawn.length) {
      drawn = randomBytes(idBytes * idsADraw)
      at = 0
    }
    at += idBytes
    return `req_${drawn.toString('hex', at - idBytes, at)}`
  }
}

const safeLines = Object.entries(safeHeaders)
  .map(([name, value]) => `${name}: ${value}\r\n`)
  .join('')

/** A request that Node's HTTP parser refuses never reaches Fastify, but still gets a problem body. */
export const answerClientError =
  (randomBytes: ServerNeeds['randomBytes'], toProblem: ToProblem) =>
  (error: NodeJS.ErrnoException, socket: Socket): void =>
    answerRawSocket(error.code ?? '', socket, `req_${randomBytes(idBytes).toString('hex')}`, toProblem)

/** Refuses the requests of a client that pipelines too many, and closes the connection behind the answer. */
const refusePipelined =
  (randomBytes: ServerNeeds['randomBytes'], toProblem: ToProblem) =>
  (response: ServerResponse): void => {
    const detail = `A connection has at most ${socketLimits.inFlightMax} requests that wait for their response. Send the others again.`
    const id = `req_${randomBytes(idBytes).toString('hex')}`
    const problem = toProblem(new Refusal('too_many_requests', detail), id)
    const body = JSON.stringify(problem)
    response
      .writeHead(problem.status, {
        ...safeHeaders,
        'content-type': 'application/problem+json',
        'content-length': Buffer.byteLength(body),
        'x-request-id': id,
        connection: 'close',
      })
      .end(body)
  }

function answerRawSocket(code: string, socket: Socket, requestId: string, toProblem: ToProblem): void {
  if (code === 'ECONNRESET' || !socket.writable) return void socket.destroy()
  const refusal = new Refusal(
    code === 'HPE_HEADER_OVERFLOW'
      ? 'headers_too_large'
      : code === 'ERR_HTTP_REQUEST_TIMEOUT'
        ? 'request_timeout'
        : 'malformed_request',
  )
  const problem = toProblem(refusal, requestId)
  const body = JSON.stringify(problem)
  socket.end(
    `HTTP/1.1 ${problem.status} ${refusal.code}\r\ncontent-type: application/problem+json\r\n` +
      `x-request-id: ${requestId}\r\n${safeLines}content-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
  )
  // A client that no longer reads would otherwise keep the connection half open for ever.
  setTimeout(() => socket.destroy(), answerReadMs).unref()
}

/** Gives every response an id and makes every error a problem. */
export function answerProblems(app: FastifyInstance, toProblem: ToProblem): void {
  // Without a listener Node answers an unknown `Expect` with its own 417; RFC 9110 allows ignoring it.
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response))
  app.decorate('routesServed', [])
  app.decorate('pathsServed', [])
  app.addHook('onRoute', ({ url, method }) => {
    app.routesServed.push({ url, method })
  })
  app.addHook('onRequest', (request, reply, done) => {
    reply.headers({ ...safeHeaders, 'x-request-id': request.id })
    // Here and not in the handler, so that the body of an unmatched request is never read.
    const { raw } = request
    if (raw.httpVersion === '1.1' && headerValues(raw, 'host').length !== 1)
      done(new Refusal('malformed_request'))
    else if (request.is404) done(refusalOfNowhere(app, request.url))
    else done()
  })
  app.setErrorHandler((error, request, reply) => {
    const refusal = toRefusal(error)
    request.refusal = refusal
    const problem = toProblem(refusal, request.id, request.principal !== null)
    return reply.headers(refusal.headers).code(problem.status).type('application/problem+json').send(problem)
  })
  app.decorateRequest('refusal', null)
}

/**
 * Collects the methods of each path, for the 405 with `Allow`. A request is only matched against them if no
 * route matches: as separate routes, thirty methods for every path took a tenth of the start.
 */
export function refuseOtherMethods(app: FastifyInstance): void {
  const paths = new Map<string, Set<string>>()
  for (const { url, method } of app.routesServed) {
    const taken = paths.get(url) ?? new Set()
    paths.set(url, taken)
    for (const one of [method].flat()) taken.add(one)
    if (taken.has('GET')) taken.add('HEAD')
  }
  for (const [url, taken] of paths) {
    const pattern = url.replace(/[.]/g, '\\.').replace('*', '.*').replace(/:\w+/g, '[^/]*')
    const allow = methods.filter(method => taken.has(method)).join(', ')
    app.pathsServed.push({ pattern: new RegExp(`^${pattern}$`), allow })
  }
}

/** The refusal of a request that no route matches. Its body is never read. */
function refusalOfNowhere(app: FastifyInstance, url: string): Refusal {
  const path = url.split('?', 1)[0] ?? ''
  const served = app.pathsServed.find(({ pattern }) => pattern.test(path))
  if (served === undefined) return new Refusal('route_not_found')
  const { allow } = served
  return new Refusal('method_not_allowed', `This route allows ${allow}.`, { headers: { allow } })
}

declare module 'fastify' {
  interface FastifyRequest {
    /** The refusal of the request, for its log line. */
    refusal: Refusal | null
  }
  interface FastifyInstance {
    /** Every route registered so far. */
    routesServed: { url: string; method: string | string[] }[]
    /** Every path and its methods. */
    pathsServed: { pattern: RegExp; allow: string }[]
  }
}
