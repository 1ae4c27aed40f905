import type { Config } from '../config.ts'
import type { Service as WholeService } from '../main.ts'
import { type Connection, connectionFromUrl } from '../platform/db/connection.ts'
import { startEmbedded } from '../platform/db/embedded/start.ts'
import { migrate } from '../platform/db/migrate.ts'
import { createLog, type Logger } from '../platform/log.ts'
import { type BannerFacts, printBanner } from './banner.ts'
import { ensureBootstrapToken } from './bootstrap-token.ts'
import { type Plan, planConfinement, prepareMailFolder } from './confine.ts'
import { type Launched, launchConfined } from './confined-service.ts'
import { inspectServer } from './database.ts'
import { drain } from './drain.ts'
import { type GivenKeys, missingKey, requireKeys } from './encryption-key.ts'
import { CommandFailed } from './failure.ts'
import { explainListening } from './listening.ts'
import { outliveReaders, tell } from './output.ts'
import { listenForStop, type StopSignals } from './stop-signals.ts'

/** A service that runs, in this process or in one of its own. */
interface Service extends Pick<WholeService, 'url' | 'metricsUrl' | 'close' | 'hurry'> {
  /** As what it runs, where root has started it. */
  runsAs: string | null
}

/** What the service stands on, and what a person is told of it. */
interface Store {
  connection: Connection
  direct: Connection
  data: string
  bootstrap: BannerFacts['bootstrap']
  stop(): Promise<void>
}

/** What there is to tell of a service that listens. */
export type Ready = BannerFacts

/**
 * Runs the service until somebody asks it to stop; gives the exit code.
 *
 * @param tellReady told once, when the service listens; should it fail, the service is stopped and the call throws that
 */
export async function serve(
  config: Config,
  tellReady: (ready: Ready) => void | Promise<void> = printBanner,
): Promise<number> {
  outliveReaders()
  const log = createLog(config.logLevel)
  const stop = listenForStop()
  const broken = Promise.withResolvers<never>()
  broken.promise.catch(() => {})
  // A fault of our own must not leave Postgres behind.
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
    const service = await Promise.race([
      start(config, log, store, listener, broken.reject),
      stopped,
      broken.promise,
    ])
    if (service === null) return 0
    const told = announce(service, store, log, tellReady).then(() => stop.first)
    await Promise.race([stop.first, broken.promise, told]).finally(() => end(service, stop, log))
    return 0
  } finally {
    await store.stop()
    log.info('stopped')
    log.flush()
  }
}

/** The process that will listen: another one, which has lost root's rights, or null for this one. */
interface Listener {
  launched: Launched | null
  runsAs: Plan['sentence'] | null
}

function prepareListener(config: Config, log: Logger): Listener {
  const plan = planConfinement(config, { create: true })
  if (plan === null) return { launched: null, runsAs: null }
  const { confinement, keeps, sentence } = plan
  log[confinement === null ? 'warn' : 'info']({ runs_as: sentence }, 'the process that listens')
  return { launched: confinement === null ? null : launchConfined(confinement, keeps), runsAs: sentence }
}

async function openStore(config: Config, log: Logger, stop: StopSignals): Promise<Store | null> {
  try {
    return config.databaseUrl === null ? await openEmbedded(config, log) : await openOutside(config)
  } catch (error) {
    // initdb runs in the foreground and gets the Ctrl-C too; ours is heard as soon as it has ended.
    await new Promise(setImmediate)
    if (stop.asked) return null
    throw error
  }
}

async function openEmbedded({ dataDir, bootstrapToken }: Config, log: Logger): Promise<Store> {
  const postgres = await startEmbedded({ dataDir, log })
  const { connection, serverVersion } = postgres
  const store = { connection, direct: connection, stop: () => postgres.stop() }
  // As root it may lie elsewhere: Postgres runs under an account that has to get there.
  const elsewhere = postgres.dataDirectory.startsWith(`${dataDir}/`) ? '' : ` in ${postgres.dataDirectory}`
  const data = `${dataDir} (embedded Postgres ${serverVersion}${elsewhere})`
  try {
    return { ...store, data, bootstrap: bootstrapToken === null ? ensureBootstrapToken(dataDir) : 'set' }
  } catch (error) {
    await postgres.stop()
    throw error
  }
}

async function openOutside(config: Config): Promise<Store> {
  const { databaseUrl, databaseDirectUrl, bootstrapToken, encryptionKeys } = config
  // Before anything is migrated.
  if (encryptionKeys.length === 0) throw new CommandFailed(missingKey)
  const connection = connectionFromUrl(databaseUrl ?? '')
  const direct = databaseDirectUrl === null ? connection : connectionFromUrl(databaseDirectUrl)
  const { version, database } = await inspectServer(direct)
  return {
    connection,
    direct,
    data: `${database} at ${direct.host ?? 'localhost'}:${direct.port ?? 5432} (Postgres ${version})`,
    bootstrap: bootstrapToken === null ? 'off' : 'set',
    stop: async () => {},
  }
}

async function start(
  config: Config,
  log: Logger,
  { connection, direct, bootstrap }: Store,
  { launched, runsAs }: Listener,
  onBroken: (error: Error) => void,
): Promise<Service> {
  for (const name of await migrate(direct)) log.info({ migration: name }, 'migration applied')
  const { keys, path, isNew }: GivenKeys = await requireKeys(config, direct)
  if (isNew) log.warn({ path }, 'encryption key made: keep a copy, apart from backups')
  const bootstrapToken = typeof bootstrap === 'string' ? config.bootstrapToken : bootstrap.token
  const complete = { ...config, bootstrapToken, encryptionKeys: keys }
  if (launched !== null) {
    prepareMailFolder(config, launched.uid)
    const onSignal = (signal: NodeJS.Signals) => void process.emit(signal, signal)
    const parts = { config: complete, connection, direct, onSignal, onBroken }
    return { ...(await launched.start(parts)), runsAs }
  }
  const { startService } = await import('../main.ts')
  try {
    const service = await startService({ config: complete, log, connection, directConnection: direct })
    return Object.assign(service, { runsAs })
  } catch (error) {
    throw explainListening(error, config)
  }
}

async function announce(
  { url, metricsUrl, runsAs }: Service,
  { data, bootstrap }: Store,
  log: Logger,
  tellReady: (ready: Ready) => void | Promise<void>,
): Promise<void> {
  log.info({ url, metrics_url: metricsUrl }, 'listening')
  await tellReady({ url, metricsUrl, data, bootstrap, runsAs })
}

async function end(service: Service, { second }: StopSignals, log: Logger): Promise<void> {
  log.info('stopping')
  if (process.stdout.isTTY)
    tell('\nStopping. Requests under way are finished first; Ctrl-C again cuts them off.')
  const outcome = await drain(service, second)
  if (outcome === 'cut') log.warn('requests were cut off')
}
