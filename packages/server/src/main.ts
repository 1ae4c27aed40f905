import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buildApp } from './app.ts'
import type { Config } from './config.ts'
import { type Deps, type Outside, openDeps } from './deps.ts'
import type { Metrics } from './platform/metrics.ts'

export interface Service {
  /** Where it listens, such as `http://127.0.0.1:8080`. */
  readonly url: string
  readonly metricsUrl: string | null
  readonly deps: Deps
  /** Stops to accept, lets what runs end, then lets go of the store. */
  close(): Promise<void>
}

/** Starts the service on a migrated database. */
export async function startService(outside: Outside): Promise<Service> {
  const { config } = outside
  const deps = await openDeps(outside)
  try {
    const app = await buildApp(deps)
    await app.listen({ host: config.host, port: config.port })
    const metrics = await serveMetrics(config, deps.metrics)
    return {
      url: urlOf(app.server),
      metricsUrl: metrics === null ? null : `${urlOf(metrics)}/metrics`,
      deps,
      async close() {
        metrics?.close()
        metrics?.closeAllConnections()
        await app.close()
        await deps.close()
      },
    }
  } catch (error) {
    await deps.close()
    throw error
  }
}

/** Prometheus text on a port of its own, on the same address; never on the public port. */
async function serveMetrics({ host, metricsPort }: Config, metrics: Metrics): Promise<Server | null> {
  if (metricsPort === null) return null
  const server = createServer(async (request, response) => {
    if (request.url !== '/metrics') {
      response.writeHead(404).end()
      return
    }
    const text = await metrics.text()
    response.writeHead(200, { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' }).end(text)
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
