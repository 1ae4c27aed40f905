import { createServer, METHODS, type RequestListener, type Server } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyHttpOptions, FastifyInstance, FastifyReply } from 'fastify'
import type { Deps } from '../../deps.ts'
import { Refusal } from '../refusal.ts'
import { headerValues, safeHeaders } from './headers.ts'
import { toProblem, toRefusal } from './problem.ts'
import { boundConnections, boundSockets } from './sockets.ts'

/** All that Node's parser lets through as a request. CONNECT never becomes one. */
const methods = METHODS.filter(method => method !== 'CONNECT')

/** Times in ms. Of bodies `sockets.ts` judges, by how much has arrived; Node's own bound of them is above all of those. */
const headMs = 5_000
const requestMs = 60_000
const lookMs = 1_000
const keptAliveMs = 72_000
/** How long somebody who sent what is no request has to hear so. */
const hearMs = 5_000

/** Fastify's defaults, set for this service: bounded times and sizes, ids of our own, no trust in headers. */
export function serverOptions({ config, log, randomBytes }: Deps): FastifyHttpOptions<Server> {
  return {
    logger: false,
    // An inbound x-request-id is ignored: it is not ours to believe.
    requestIdHeader: false,
    genReqId: requestIds(randomBytes),
    trustProxy: (_address: string, hop: number) => hop < config.trustProxyHops,
    serverFactory: handler => {
      const sockets = boundSockets(handler as RequestListener)
      const server = createServer(
        {
          headersTimeout: headMs,
          requestTimeout: requestMs,
          connectionsCheckingInterval: lookMs,
          keepAliveTimeout: keptAliveMs,
          maxHeaderSize: 16_384,
          // Node's own answer to a missing Host has no body; `answerProblems` gives one.
          requireHostHeader: false,
        },
        sockets.listener,
      )
      sockets.watch(server)
      boundConnections(server, config.maxConnections, log)
      return server
    },
    forceCloseConnections: 'idle',
    // Fastify's own 503 is no problem body. A request that is already here while we close is still served.
    return503OnClosing: false,
    // As long as a request line may be: an overlong id is refused like any other that names nothing.
    routerOptions: {
      maxParamLength: 16_384,
      caseSensitive: true,
      ignoreTrailingSlash: false,
      // `query.ts` reads what a route asks for, and refuses what is doubled.
      querystringParser: () => ({}),
    },
    frameworkErrors: (error, request, reply) => {
      const problem = toProblem(toRefusal(error), request.id)
      reply.headers({ ...safeHeaders, 'x-request-id': request.id }).type('application/problem+json')
      return (reply as FastifyReply).code(problem.status).send(problem)
    },
    clientErrorHandler: (error, socket) => {
      answerRawSocket(error.code ?? '', socket, `req_${randomBytes(12).toString('hex')}`)
    },
  }
}

const idBytes = 12
/** Random bytes are drawn for so many requests at once: a draw costs more than the id. */
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

/** What Node's HTTP parser refuses never becomes a request; it still gets a problem body. */
function answerRawSocket(code: string, socket: Socket, requestId: string): void {
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
  // Who has stopped to listen would keep the connection half open for good.
  setTimeout(() => socket.destroy(), hearMs).unref()
}

/** Every answer has an id; every error is a problem. */
export function answerProblems(app: FastifyInstance): void {
  // Without a listener Node answers an unknown `Expect` with a 417 of its own; RFC 9110 lets it be ignored.
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response))
  app.decorate('routesServed', [])
  app.decorate('pathsServed', [])
  app.addHook('onRoute', ({ url, method }) => {
    app.routesServed.push({ url, method })
  })
  app.addHook('onRequest', (request, reply, done) => {
    reply.headers({ ...safeHeaders, 'x-request-id': request.id })
    // Here and not in the handler, so that the body of a request that goes nowhere is never read.
    const { raw } = request
    if (raw.httpVersion === '1.1' && headerValues(raw, 'host').length !== 1)
      done(new Refusal('malformed_request'))
    else if (request.is404) done(refusalOfNowhere(app, request.url))
    else done()
  })
  app.setErrorHandler((error, request, reply) => {
    const refusal = toRefusal(error)
    request.refusal = refusal
    const problem = toProblem(refusal, request.id)
    return reply.headers(refusal.headers).code(problem.status).type('application/problem+json').send(problem)
  })
  app.decorateRequest('refusal', null)
}

/**
 * Learns which methods each path has, for the 405 with `Allow` that a request of another method is answered with. It
 * is looked for only when a request leads nowhere: as routes of their own, thirty methods of every path took a tenth of
 * the time in which the service starts.
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

/** Why a request leads nowhere. The body of one is never read. */
function refusalOfNowhere(app: FastifyInstance, url: string): Refusal {
  const path = url.split('?', 1)[0] ?? ''
  const served = app.pathsServed.find(({ pattern }) => pattern.test(path))
  if (served === undefined) return new Refusal('route_not_found')
  const { allow } = served
  return new Refusal('method_not_allowed', `This route takes ${allow}.`, { headers: { allow } })
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Why the request was refused, for its log line. */
    refusal: Refusal | null
  }
  interface FastifyInstance {
    /** Every route registered so far. */
    routesServed: { url: string; method: string | string[] }[]
    /** Every path, and the methods that it takes. */
    pathsServed: { pattern: RegExp; allow: string }[]
  }
}
