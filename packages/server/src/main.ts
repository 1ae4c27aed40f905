import type { Server } from 'node:http'
import { flushCompileCache } from 'node:module'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { buildApp } from './app.ts'
import type { BuildState } from './dashboard/dashboard.ts'
import { type Deps, openDeps } from './deps.ts'
import type { Outside } from './outside.ts'
import { keptMsMax } from './platform/http/sockets.ts'
import { stopListening } from './platform/http/stop-listening.ts'
import { serveMetrics } from './platform/observe/metrics-server.ts'

export interface Service {
  /** The URL that it listens on, such as `http://127.0.0.1:8080`. */
  readonly url: string
  readonly metricsUrl: string | null
  readonly deps: Deps
  /** Reports what the process that builds the dashboard knows. */
  reportDashboard(state: BuildState): void
  /** Announces the close: `/readyz` is 503. Requests are served as before. */
  leave(): void
  /**
   * Lets revocations that wait for nodes end, stops accepting connections, finishes running requests, then closes the
   * database. A second call waits for the first.
   * @param isReplaced a process that shares the port has taken its place: nothing waits for this one to end, so that it keeps
   * idle connections until their next request, which is their last.
   */
  close(isReplaced?: boolean): Promise<void>
  /** Aborts running requests, so that a `close` in progress ends at once. */
  hurry(): void
}

/**
 * How long a closing service still listens while revocations wait for their nodes, of the 25 s that it has in all: HAProxy
 * ends requests of a process that no longer answers its checks. Then such a revocation is answered with what is known.
 */
const waitsMsMax = 17_000

/** After how long a new process begins to send queued mail, in ms. */
const mailAfterMs = 500

/** Starts the service on a migrated database. */
export async function startService(outside: Outside): Promise<Service> {
  const { config } = outside
  // Of several processes, the one that has started them serves the figures of all.
  const metricsPort = config.processes > 1 ? null : config.metricsPort
  const deps = await openDeps(outside)
  const app = await buildApp(deps).catch(async error => {
    await deps.close()
    throw error
  })
  try {
    await app.listen({ host: config.host, port: config.port })
    const metrics =
      metricsPort === null ? null : await serveMetrics({ ...deps, host: config.host, port: metricsPort })
    // Its library takes 40 ms to load, which the first requests need not wait for.
    setTimeout(deps.mail.start, mailAfterMs).unref()
    // Node would write it at the end of the process, which `kill -9` skips.
    setImmediate(() => flushCompileCache())
    let closed: Promise<void> | undefined
    const close = async () => {
      deps.leave()
      metrics?.close()
      metrics?.closeAllConnections()
      const { waits } = deps.policy
      const patience = setTimeout(waits.end, waitsMsMax)
      await waits.ended()
      await stopListening(app.server)
      // Polls that are held come back now and not before, so that they reach another process.
      deps.drain()
      await app.close().finally(() => clearTimeout(patience))
      await closeInTime(deps)
    }
    return {
      url: urlOf(app.server, config.tlsCertFile === null ? 'http' : 'https'),
      metricsUrl: metrics === null ? null : `${urlOf(metrics, 'http')}/metrics`,
      deps,
      reportDashboard: deps.dashboard.report,
      leave: deps.leave,
      close(isReplaced = false) {
        if (isReplaced) deps.kept.ms = keptMsMax
        closed ??= close()
        return closed
      },
      hurry() {
        deps.policy.waits.end()
        app.server.closeAllConnections()
      },
    }
  } catch (error) {
    // The public port may already be open when the metrics port is taken.
    await app.close()
    await deps.close()
    throw error
  }
}

/** A store that hangs must not keep the process: what it leaves undone, as a crash would, the next process takes up. */
async function closeInTime(deps: Deps): Promise<void> {
  const closing = deps.close()
  const over = new AbortController()
  const late = sleep(deps.budgets.closeMs, 'late' as const, { signal: over.signal })
  late.catch(() => {})
  try {
    if ((await Promise.race([closing, late])) !== 'late') return
    closing.catch(() => {})
    deps.log.warn('a store did not answer, so its connections were left')
  } finally {
    over.abort()
  }
}

function urlOf(server: Server, scheme: 'http' | 'https'): string {
  const { address, family, port } = server.address() as AddressInfo
  return `${scheme}://${family === 'IPv6' ? `[${address}]` : address}:${port}`
}
