import type { RequestListener, Server } from 'node:http'
import type { Socket } from 'node:net'
import { safeHeaders } from '../http/headers.ts'
import { problemsOf } from '../http/problem.ts'
import { answerClientError, nodeOptions } from '../http/server.ts'
import { boundSockets, socketLimits } from '../http/sockets.ts'
import type { Logger } from './log.ts'
import type { Metrics } from './metrics.ts'

/** Not imported, for the reason in `server.ts`. */
const { createServer } = process.getBuiltinModule('node:http')

interface MetricsNeeds {
  readonly host: string
  readonly port: number
  readonly metrics: Pick<Metrics, 'text'>
  readonly log: Pick<Logger, 'error'>
  readonly randomBytes: (size: number) => Buffer
  readonly config: { readonly publicUrl: string }
}

const type = 'text/plain; version=0.0.4; charset=utf-8'
/** Connections at once; a scraper keeps one. `sockets.ts` keeps this many files free of clients. */
export const metricsConnectionsMax = 32

/**
 * Prometheus text on a separate port of the same address, never on the public port and always plain HTTP. It has no
 * credential, so its clients are bounded like those of the service: without bounds, a megabyte of pipelined scrapes took
 * gigabytes.
 */
export async function serveMetrics({
  host,
  port,
  metrics,
  log,
  randomBytes,
  config,
}: MetricsNeeds): Promise<Server> {
  let reading: Promise<Buffer> | null = null
  /** Scrapes at the same time share one text. */
  const read = (): Promise<Buffer> => {
    reading ??= metrics
      .text()
      .then(text => Buffer.from(text))
      .finally(() => {
        reading = null
      })
    return reading
  }
  const handle: RequestListener = async (request, response) => {
    if (request.url !== '/metrics') return void response.writeHead(404, safeHeaders).end()
    try {
      const body = await read()
      response.writeHead(200, { ...safeHeaders, 'content-type': type, 'content-length': body.length })
      response.end(body)
    } catch (error) {
      log.error({ err: error }, 'the metrics cannot be read')
      response.writeHead(500, safeHeaders).end()
    }
  }
  const sockets = boundSockets(handle, { ...socketLimits, inFlightMax: 1 })
  const server = createServer(nodeOptions, sockets.listener)
  sockets.watch(server)
  server.maxConnections = metricsConnectionsMax
  const answer = answerClientError(randomBytes, problemsOf(config.publicUrl))
  server.on('clientError', (error, socket) => answer(error, socket as Socket))
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  server.once('error', reject).listen(port, host, resolve)
  await promise
  return server
}
