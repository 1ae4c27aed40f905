import { createServer, type Server } from 'node:http'
import { flushCompileCache } from 'node:module'
import type { AddressInfo } from 'node:net'
import { buildApp } from './app.ts'
import type { Config } from './config.ts'
import { type Deps, type Outside, openDeps } from './deps.ts'
import { safeHeaders } from './platform/http/headers.ts'
import type { Metrics } from './platform/metrics.ts'

export interface Service {
  /** Where it listens, such as `http://127.0.0.1:8080`. */
  readonly url: string
  readonly metricsUrl: string | null
  readonly deps: Deps
  /** Stops to accept, lets what runs end, then lets go of the store. A second call waits for the first. */
  close(): Promise<void>
  /** Cuts off what is still running, so that a `close` under way ends at once. */
  hurry(): void
}

/** How often a service that is closing looks for connections whose last request has been answered. */
const idleCheckMs = 50

/** Starts the service on a migrated database. */
export async function startService(outside: Outside): Promise<Service> {
  const { config } = outside
  const deps = await openDeps(outside)
  const app = await buildApp(deps)
  try {
    await app.listen({ host: config.host, port: config.port })
    const metrics = await serveMetrics(config, deps.metrics)
    deps.mail.start()
    // Otherwise written at the end of the process, to which `kill -9` does not let it come.
    setImmediate(() => flushCompileCache())
    let closed: Promise<void> | undefined
    const close = async () => {
      deps.drain()
      metrics?.close()
      metrics?.closeAllConnections()
      // A connection that is kept alive stays open behind its last answer; nobody would wait for the next request.
      const reaper = setInterval(() => app.server.closeIdleConnections(), idleCheckMs)
      await app.close().finally(() => clearInterval(reaper))
      await deps.close()
    }
    return {
      url: urlOf(app.server),
      metricsUrl: metrics === null ? null : `${urlOf(metrics)}/metrics`,
      deps,
      close() {
        closed ??= close()
        return closed
      },
      hurry: () => app.server.closeAllConnections(),
    }
  } catch (error) {
    // The public port may be open already when the one for metrics is taken.
    await app.close()
    await deps.close()
    throw error
  }
}

/** Prometheus text on a port of its own, on the same address; never on the public port. */
async function serveMetrics({ host, metricsPort }: Config, metrics: Metrics): Promise<Server | null> {
  if (metricsPort === null) return null
  const server = createServer(async (request, response) => {
    if (request.url !== '/metrics') {
      response.writeHead(404, safeHeaders).end()
      return
    }
    const text = await metrics.text()
    response
      .writeHead(200, { ...safeHeaders, 'content-type': 'text/plain; version=0.0.4; charset=utf-8' })
      .end(text)
  })
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  server.once('error', reject).listen(metricsPort, host, resolve)
  await promise
  return server
}

function urlOf(server: Server): string {
  const { address, family, port } = server.address() as AddressInfo
  return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`
}
