import type { Config } from '../config.ts'
import { type Service, startService } from '../main.ts'
import { type Connection, connectionFromUrl } from '../platform/db/connection.ts'
import { startEmbedded } from '../platform/db/embedded/start.ts'
import { migrate } from '../platform/db/migrate.ts'
import { createLog, type Logger } from '../platform/log.ts'
import { type BannerFacts, printBanner } from './banner.ts'
import { ensureBootstrapToken } from './bootstrap-token.ts'
import { inspectServer } from './database.ts'
import { drain } from './drain.ts'
import { explainListening } from './listening.ts'
import { outliveReaders, tell } from './output.ts'
import { listenForStop, type StopSignals } from './stop-signals.ts'

/** What the service stands on, and what a person is told of it. */
interface Store {
  connection: Connection
  direct: Connection
  data: string
  bootstrap: BannerFacts['bootstrap']
  stop(): Promise<void>
}

/** Runs the service until somebody asks it to stop; gives the exit code. */
export async function serve(config: Config): Promise<number> {
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
  const store = await openStore(config, log, stop)
  if (store === null) return 0
  try {
    const stopped = stop.first.then(() => null)
    const service = await Promise.race([start(config, log, store), stopped, broken.promise])
    if (service === null) return 0
    announce(service, store, log)
    await Promise.race([stop.first, broken.promise]).finally(() => end(service, stop, log))
    return 0
  } finally {
    await store.stop()
    log.info('stopped')
    log.flush()
  }
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

async function openOutside({ databaseUrl, databaseDirectUrl, bootstrapToken }: Config): Promise<Store> {
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
): Promise<Service> {
  for (const name of await migrate(direct)) log.info({ migration: name }, 'migration applied')
  const bootstrapToken = typeof bootstrap === 'string' ? config.bootstrapToken : bootstrap.token
  try {
    return await startService({
      config: { ...config, bootstrapToken },
      log,
      connection,
      directConnection: direct,
    })
  } catch (error) {
    throw explainListening(error, config)
  }
}

function announce({ url, metricsUrl }: Service, { data, bootstrap }: Store, log: Logger): void {
  log.info({ url, metrics_url: metricsUrl }, 'listening')
  printBanner({ url, metricsUrl, data, bootstrap })
}

async function end(service: Service, { second }: StopSignals, log: Logger): Promise<void> {
  log.info('stopping')
  if (process.stdout.isTTY)
    tell('\nStopping. Requests under way are finished first; Ctrl-C again cuts them off.')
  const outcome = await drain(service, second)
  if (outcome === 'cut') log.warn('requests were cut off')
}
