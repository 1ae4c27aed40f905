/**
 * `keyrail serve`: `serve.ts` is the command, `run-service.ts` runs the service until a signal of `stop-signals.ts`
 * (`drain.ts`). `await-database.ts` waits for a database, `pooler.ts` refuses one that pools transactions,
 * `connection-quota.ts` counts its connections. Started by root, `confine.ts` plans and `confined-service.ts` starts
 * `confined-main.ts` with `confined-messages.ts`. `build-dashboard.ts` builds beside it (`build-output.ts`). `banner.ts`
 * tells the person, `bootstrap-token.ts` makes the first credential, `listening.ts` explains a port that is taken.
 * `processes/` has the processes that share the port, which `complete-config.ts` gives their secrets.
 */

import type { Config } from '../../config.ts'
import type { Service as WholeService } from '../../main.ts'
import { type Connection, placeOf } from '../../platform/db/connection.ts'
import { startEmbedded } from '../../platform/db/embedded/start.ts'
import { patienceOf } from '../../platform/db/migrate/lock-wait.ts'
import { migrate } from '../../platform/db/migrate/migrate.ts'
import { connectionsInRoll } from '../../platform/db/pool/connection-need.ts'
import { createLog, type Logger, toggleDebug } from '../../platform/observe/log.ts'
import { outsideConnections } from '../connections.ts'
import { missingKey } from '../encryption-key.ts'
import { CommandFailed } from '../failure.ts'
import { inform } from '../output.ts'
import { awaitDatabase } from './await-database.ts'
import { type BannerFacts, dashboardUrl, printBanner } from './banner.ts'
import { ensureBootstrapToken } from './bootstrap-token.ts'
import { buildDashboard, type DashboardBuild } from './build-dashboard.ts'
import { completeConfig } from './complete-config.ts'
import { type Plan, planConfinement, prepareMailFolder } from './confine.ts'
import { type Launched, launchConfined } from './confined-service.ts'
import { checkConnectionQuota } from './connection-quota.ts'
import { drain } from './drain.ts'
import { explainListening } from './listening.ts'
import { refuseTransactionPooler } from './pooler.ts'
import { hasTerminal, listenForStop, type StopSignals } from './stop-signals.ts'

/** A running service, in this process or in separate ones. */
interface Service
  extends Pick<WholeService, 'url' | 'metricsUrl' | 'leave' | 'close' | 'hurry' | 'reportDashboard'> {
  /** The account that it runs as, if root has started it. */
  runsAs: string | null
  /** For the log of a separate process. */
  toggleDebug?(): void
  /** Where several processes serve: starts others in their place. */
  roll?(config: Config): unknown
}

/** The database of the service, and what the banner shows of it. */
interface Store {
  connection: Connection
  direct: Connection
  data: string
  bootstrap: BannerFacts['bootstrap']
  /** The settings with how many processes it carries. */
  config: Config
  stop(): Promise<void>
}

/** What the banner shows of a service that listens. */
export type Ready = BannerFacts

/**
 * Runs the service until it is stopped, and returns the exit code.
 *
 * @param onReady called once, when the service listens; if it fails, the service stops and the call throws its
 * error
 * @param reread the settings of now, for processes of a rolling restart
 */
export async function serve(
  config: Config,
  onReady: (ready: Ready) => void | Promise<void> = printBanner,
  reread: () => Config = () => config,
): Promise<number> {
  const log = createLog(config.logLevel)
  const hangUp = hangUpOf(config)
  const stop = listenForStop(hangUp.isReload)
  const toggles = new Set([() => toggleDebug(log)])
  process.on('SIGUSR2', () => {
    for (const toggle of toggles) toggle()
  })
  const broken = Promise.withResolvers<never>()
  broken.promise.catch(() => {})
  // An unexpected error must not leave Postgres running.
  process.on('uncaughtException', error => {
    log.fatal({ err: error }, 'unexpected error')
    log.flush()
    broken.reject(error)
  })
  const listener = prepareListener(config, log)
  const store = await openStore(config, log, stop)
  if (store === null) return 0
  try {
    const stopped = stop.first.then(() => null)
    const service = await Promise.race([start(log, store, listener, broken.reject), stopped, broken.promise])
    if (service === null) return 0
    toggles.add(() => service.toggleDebug?.())
    hangUp.become(rollerOf(service, store, reread, log))
    let build: DashboardBuild | undefined
    const announced = announce(service, store, config, log, onReady).then(() => {
      // Last, so that the API is ready as early as without a dashboard.
      if (config.dashboard === 'on' && !stop.asked) build = startBuild(service, config, log)
      return stop.first
    })
    await Promise.race([stop.first, broken.promise, announced]).finally(async () => {
      await build?.stop()
      await end(service, stop, config, log)
    })
    return 0
  } finally {
    await store.stop()
    log.info('stopped')
    log.flush()
  }
}

/** What SIGHUP does. One that comes while several processes start must not stop them: they roll once they serve. */
function hangUpOf({ processes }: Config) {
  const mayRoll = processes > 1 && !hasTerminal()
  let isAsked = false
  let roll: Roll | null = mayRoll
    ? () => {
        isAsked = true
        return true
      }
    : null
  return {
    isReload: () => roll?.() ?? false,
    become(next: Roll | null) {
      roll = next
      if (isAsked) roll?.()
    },
  }
}

/** Begins a rolling restart. @returns true: the signal for it was no stop. */
type Roll = () => true

/**
 * Where several processes serve without a terminal, SIGHUP starts others in their place, with the values that files of settings
 * have now. The end of a terminal is a SIGHUP too, and stops the service.
 */
function rollerOf(service: Service, store: Store, reread: () => Config, log: Logger): Roll | null {
  const { processes } = store.config
  if (service.roll === undefined || processes === 1 || hasTerminal()) return null
  const roll = async () => {
    try {
      await service.roll?.(await completeConfig({ ...reread(), processes }, store, log))
    } catch (error) {
      log.error({ err: error }, 'rolling restart refused: the settings cannot be read')
    }
  }
  return () => {
    void roll()
    return true
  }
}

/** The process that will listen: a separate one without root's rights, or null for this one. */
interface Listener {
  launched: Launched | null
  runsAs: Plan['sentence'] | null
}

function prepareListener(config: Config, log: Logger): Listener {
  const plan = planConfinement(config, { create: true })
  if (plan === null) return { launched: null, runsAs: null }
  const { confinement, keeps, sentence } = plan
  log[confinement === null ? 'warn' : 'info']({ runs_as: sentence }, 'listening process')
  const launched = confinement === null ? null : launchConfined(confinement, keeps, config.processes > 1)
  return { launched, runsAs: sentence }
}

async function openStore(config: Config, log: Logger, stop: StopSignals): Promise<Store | null> {
  try {
    const outside = outsideConnections(config)
    return outside === null ? await openEmbedded(config, log) : await openOutside(config, outside, log, stop)
  } catch (error) {
    // initdb runs in the foreground and gets the Ctrl-C too; ours arrives as soon as it has ended.
    await new Promise(setImmediate)
    if (stop.asked) return null
    throw error
  }
}

async function openEmbedded(config: Config, log: Logger): Promise<Store> {
  const { dataDir, bootstrapToken } = config
  const postgres = await startEmbedded({ dataDir, log, connections: connectionsInRoll(config) })
  const { connection, serverVersion } = postgres
  const store = { connection, direct: connection, config, stop: () => postgres.stop() }
  // As root it may be elsewhere, because Postgres runs under an account that must reach it.
  const elsewhere = postgres.dataDirectory.startsWith(`${dataDir}/`) ? '' : ` in ${postgres.dataDirectory}`
  const data = `${dataDir} (embedded Postgres ${serverVersion}${elsewhere})`
  try {
    return { ...store, data, bootstrap: bootstrapToken === null ? ensureBootstrapToken(dataDir) : 'set' }
  } catch (error) {
    await postgres.stop()
    throw error
  }
}

/** Null: it was stopped while it waited. */
async function openOutside(
  config: Config,
  { connection, direct }: Pick<Store, 'connection' | 'direct'>,
  log: Logger,
  stop: StopSignals,
): Promise<Store | null> {
  const { bootstrapToken, encryptionKeys } = config
  // Before any migration.
  if (encryptionKeys.length === 0) throw new CommandFailed(missingKey)
  const stopped = new AbortController()
  const over = stop.first.then(() => {
    stopped.abort()
    return null
  })
  // Whatever hangs, a signal ends it: nothing is open yet that would have to be closed.
  const facts = await Promise.race([awaitDatabase(direct, log, stopped.signal), over])
  if (facts === null) return null
  const { version, database } = facts
  if ((await Promise.race([refuseTransactionPooler({ connection, direct }), over])) === null) return null
  const processes = await Promise.race([checkConnectionQuota(direct, config, log), over])
  if (processes === null) return null
  return {
    connection,
    direct,
    data: `${database} at ${placeOf(direct)} (Postgres ${version})`,
    bootstrap: bootstrapToken === null ? 'off' : 'set',
    config: { ...config, processes },
    stop: async () => {},
  }
}

async function start(
  log: Logger,
  store: Store,
  { launched, runsAs }: Listener,
  onBroken: (error: Error) => void,
): Promise<Service> {
  const { connection, direct, config } = store
  const onWait = (line: string) => log.warn(line)
  const patience = patienceOf(config.migrateWaitS)
  for (const name of await migrate(direct, { onWait, patience }))
    log.info({ migration: name }, 'migration applied')
  const complete = await completeConfig(config, store, log)
  const dashboard = { kind: 'looking' } as const
  const onSignal = (signal: NodeJS.Signals) => void process.emit(signal, signal)
  const parts = { config: complete, connection, direct, dashboard, onSignal, onBroken }
  if (launched !== null) {
    prepareMailFolder(config, launched.uid)
    return { ...(await launched.start(parts)), runsAs }
  }
  try {
    if (config.processes > 1) {
      const { startProcesses } = await import('./processes/processes.ts')
      return Object.assign(await startProcesses({ ...parts, log }), { runsAs })
    }
    const { startService } = await import('../../main.ts')
    const service = await startService({
      config: complete,
      log,
      connection,
      directConnection: direct,
      dashboard: { state: dashboard },
    })
    return Object.assign(service, { runsAs })
  } catch (error) {
    throw explainListening(error, config)
  }
}

async function announce(
  { url, metricsUrl, runsAs }: Service,
  { data, bootstrap }: Store,
  { dashboard, publicUrl }: Config,
  log: Logger,
  onReady: (ready: Ready) => void | Promise<void>,
): Promise<void> {
  log.info({ url, metrics_url: metricsUrl }, 'listening')
  await onReady({ url, publicUrl, metricsUrl, hasDashboard: dashboard === 'on', data, bootstrap, runsAs })
}

const startBuild = ({ url, reportDashboard }: Service, { publicUrl }: Config, log: Logger): DashboardBuild =>
  buildDashboard({ log, address: dashboardUrl(url, publicUrl), report: reportDashboard })

async function end(service: Service, stop: StopSignals, config: Config, log: Logger): Promise<void> {
  // After an unexpected error it closes at once.
  const delayS = stop.asked ? config.drainDelayS : 0
  log.info(delayS > 0 ? { delay_s: delayS } : {}, 'stopping')
  if (process.stdout.isTTY) inform('\nStopping. Running requests finish first; Ctrl-C again cuts them off.')
  const outcome = await drain(service, stop.second, { delayMs: delayS * 1_000 })
  if (outcome === 'cut') log.warn('requests were cut off')
}
