import { randomBytes } from 'node:crypto'
import type { Config } from './config.ts'
import type { BuildState } from './dashboard/dashboard.ts'
import type { Outside } from './outside.ts'
import { type Budgets, serviceBudgets } from './platform/budgets.ts'
import { type Clock, systemClock } from './platform/clock.ts'
import { openPasswords, type Passwords } from './platform/crypto/password.ts'
import { type Connection, withConnectMs } from './platform/db/connection.ts'
import { openReadiness, type Readiness } from './platform/db/failover/readiness.ts'
import { type Lanes, openLanes } from './platform/db/lanes/lanes.ts'
import { type Hints, openHints } from './platform/db/listen/hints.ts'
import { Errands } from './platform/db/pool/errands.ts'
import { openPool, type Pool } from './platform/db/pool/pool.ts'
import { serviceSecret } from './platform/db/sealed/service-secret.ts'
import { openSealedStore, type SealedStore } from './platform/db/sealed/store.ts'
import { type JsonThread, openJsonThread } from './platform/http/body/json-thread.ts'
import { createLargeBodies, type LargeBodies, largeBoundsOf } from './platform/http/body/large-bodies.ts'
import { keptMsMax } from './platform/http/sockets.ts'
import { idMaker, type MakeId } from './platform/ids.ts'
import type { Logger } from './platform/observe/log.ts'
import { type Metrics, uncounted } from './platform/observe/metrics.ts'
import { flushTracing, openTracing } from './platform/observe/tracing.ts'
import { type Cursors, createCursors } from './platform/paging/cursor.ts'
import { version } from './version.ts'
import { WorkspaceLoads } from './workspace/loads.ts'

/** Loaded only if there is a metrics port: the library takes a tenth of the start time of the service. */
async function countedMetrics(): Promise<Metrics> {
  const { createMetrics } = await import('./platform/observe/prometheus.ts')
  return createMetrics({ version, node: process.version })
}

/** What the service has before its rooms open: database, clock, randomness, logs and metrics. */
export interface Base {
  readonly config: Config
  readonly log: Logger
  readonly metrics: Metrics
  readonly clock: Clock
  readonly randomBytes: (size: number) => Buffer
  readonly makeId: MakeId
  /** How long requests and connections may take. */
  readonly budgets: Budgets
  /** The connection pool; each call gets a separate `Db` of it, with its deadline. */
  readonly pool: Pool
  readonly lanes: Lanes
  /** Single statements that no request waits for. */
  readonly errands: Errands
  /** What other processes notify this one of. */
  readonly hints: Hints
  /** Secrets of the service in the database. */
  readonly sealed: SealedStore
  /** For long reads that must not take a connection of the pool. */
  readonly connection: Connection
  /** The same database without a pooler. */
  readonly directConnection: Connection
  readonly cursors: Cursors
  readonly readiness: Readiness
  readonly workspaceLoads: WorkspaceLoads
  readonly largeBodies: LargeBodies
  /** The same for bodies that only a signature authenticates. */
  readonly signedBodies: LargeBodies
  /** Parses large bodies off the event loop. */
  readonly jsonThread: JsonThread
  readonly passwords: Passwords
  /** Where the dashboard is built, and what is known of it. */
  readonly built: { readonly folder?: string; readonly state?: BuildState }
  /** Aborted when the process is about to stop: it serves on, but is not ready. */
  readonly leaving: AbortSignal
  leave(): void
  /** Aborted when the service closes, so that held requests are answered. */
  readonly closing: AbortSignal
  /** Answers held requests, and holds no further ones. */
  drain(): void
  /** How long a closing server keeps an idle connection, in ms. */
  readonly kept: { ms: number }
}

/** @throws {UnknownKey} when secrets in the database are sealed with a key that is not configured. */
export async function openBase(outside: Outside): Promise<Base> {
  const { config, log, clock = systemClock, budgets = serviceBudgets } = outside
  const connection = withConnectMs(outside.connection, budgets.connectMs)
  const directConnection = withConnectMs(outside.directConnection ?? outside.connection, budgets.connectMs)
  const draw = outside.randomBytes ?? randomBytes
  if (config.isTraced) await openTracing(version, log)
  const metrics = config.metricsPort === null ? uncounted : await countedMetrics()
  // Before anything is open, because it may refuse. A lane opens its connection with its first item.
  const sealed = await openSealedStore(connection, config, draw, budgets.requestMs)
  const cursorSecret = await serviceSecret(sealed, 'cursor', draw)
  const { databasePool: size, processes } = config
  const large = largeBoundsOf(processes)
  const lanes = openLanes(connection, budgets, metrics, processes)
  const hints = openHints({ connection: directConnection, lanes, clock, metrics })
  const workspaceLoads = new WorkspaceLoads(lanes)
  const [leaving, closing] = [new AbortController(), new AbortController()]
  return {
    config,
    log,
    metrics,
    clock,
    randomBytes: draw,
    makeId: idMaker(clock, draw),
    budgets,
    pool: openPool({
      ...{ connection, size, processes, budgets, hints, lanes },
      observer: metrics,
      loads: workspaceLoads,
    }),
    lanes,
    errands: new Errands(connection),
    hints,
    sealed,
    connection,
    directConnection,
    cursors: createCursors(cursorSecret),
    readiness: openReadiness(lanes, clock),
    workspaceLoads,
    largeBodies: createLargeBodies(large.bytesMax, large.mediumMax),
    signedBodies: createLargeBodies(large.signedMax, large.mediumMax),
    jsonThread: openJsonThread(log),
    passwords: openPasswords({ randomBytes: draw, log, metrics, processes }),
    built: outside.dashboard ?? {},
    leaving: leaving.signal,
    leave: () => leaving.abort(),
    closing: closing.signal,
    drain: () => closing.abort(),
    kept: { ms: Math.min(config.drainDelayS * 1_000, keptMsMax) },
  }
}

/** Closes it, after all that uses it. */
export async function closeBase(base: Base): Promise<void> {
  await Promise.all([base.passwords.close(), base.jsonThread.close()])
  await base.pool.close()
  await base.workspaceLoads.close()
  // After everything that sends items to them.
  await Promise.all([base.lanes.close(), base.hints.close()])
  await flushTracing()
}
