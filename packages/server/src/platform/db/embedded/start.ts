import { existsSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { readOwnFile, replaceOwnFile } from '../../own-files.ts'
import { type Account, findAccount, findServiceAccount } from './account.ts'
import { type Binaries, locateBinaries } from './binaries.ts'
import {
  createCluster,
  DATABASE,
  makePassword,
  readPassword,
  resetPassword,
  writePassword,
} from './cluster.ts'
import { choosePlace, findPlace, makeDirectory, STATE_DIRECTORY } from './directory.ts'
import { type Layout, layoutOf, listClusters } from './layout.ts'
import { endLeftover } from './leftover.ts'
import { lockDirectory } from './lock.ts'
import type { Log } from './log.ts'
import { readPostmasterFile } from './postmaster-file.ts'
import { loginStatements, makeServiceLogin, SERVICE_USER } from './service-login.ts'
import { portOf, renderSettings } from './settings.ts'
import { makeSocketDirectory, removeSocketDirectory } from './socket-directory.ts'
import { supervise } from './supervise.ts'
import { refuseMisnamed, refuseOtherMajor } from './version.ts'

/** How to reach an embedded Postgres with `pg`: `host` is the directory of its socket. */
export type EmbeddedConnection = {
  host: string
  port: number
  user: string
  password: string
  database: string
}

export type EmbeddedPostgres = {
  connection: EmbeddedConnection
  dataDirectory: string
  /** For instance `18.4`. */
  serverVersion: string
  /** Of the postmaster. Another one after it died and was brought back. */
  readonly pid: number
  /** Fast shutdown; then the data directory is free. A second call waits for the first. */
  stop(): Promise<void>
}

/**
 * Starts the embedded Postgres of a data directory, creating the database on the first start, and brings it back
 * whenever it dies, until `stop`. Should we be killed, it goes on running, and the next start keeps it.
 *
 * @param dataDir the service's data directory (SERVICE_DATA_DIR)
 * @param stateDirectory where root puts what the account cannot reach otherwise
 * @throws EmbeddedRefused when the person has to do something: another service runs here, there is no account to
 *   run it under, the database is of another major version
 */
export async function startEmbedded({
  dataDir,
  log,
  stateDirectory = STATE_DIRECTORY,
}: {
  dataDir: string
  log: Log
  stateDirectory?: string
}): Promise<EmbeddedPostgres> {
  const wanted = resolve(dataDir)
  const account = findAccount(ownerOf(findPlace(wanted, stateDirectory)?.base))
  const { base, moved } = choosePlace(wanted, account, stateDirectory)
  if (moved) {
    log.info(
      { directory: base, account: account.name },
      `Postgres runs as ${account.name}, which cannot reach ${wanted}: the database lies in ${base}`,
    )
  }
  const lock = await lockDirectory(base)
  try {
    const binaries = locateBinaries(account, account.switched ? stateDirectory : base)
    refuseOtherMajor(base, binaries.major)
    const layout = layoutOf(base, binaries.major)
    const password = await prepareCluster(layout, binaries, account, log)
    const host = await prepareSettings(layout, account)
    const postmaster = await supervise({ ...layout, socketDirectory: host, binaries, account, env: {} }, log)
    let stopped: Promise<void> | undefined
    return {
      connection: { host, port: portOf(), user: SERVICE_USER, password, database: DATABASE },
      dataDirectory: layout.dataDirectory,
      serverVersion: binaries.version,
      get pid() {
        return postmaster.pid
      },
      stop() {
        stopped ??= postmaster.stop().finally(() => {
          removeSocketDirectory(host)
          lock.release()
        })
        return stopped
      },
    }
  } catch (error) {
    lock.release()
    throw error
  }
}

/** Creates the cluster on the first start. Gives the password of the service's login. */
async function prepareCluster(
  layout: Layout,
  binaries: Binaries,
  account: Account,
  log: Log,
): Promise<string> {
  const { dataDirectory, passwordFile, servicePasswordFile } = layout
  const known = readPassword(passwordFile)
  const password = known ?? makePassword()
  if (!existsSync(join(dataDirectory, 'PG_VERSION'))) {
    log.info({ directory: dataDirectory }, `Creating a database with Postgres ${binaries.version}`)
    makeDirectory(layout.clusters, account)
    const servicePassword = makePassword()
    if (!known) writePassword(passwordFile, password)
    writePassword(servicePasswordFile, servicePassword)
    const login = loginStatements(servicePassword)
    await createCluster(dataDirectory, { binaries, account, password, sync: true, login })
    return servicePassword
  }
  refuseMisnamed(dataDirectory, binaries.major)
  if (!known) {
    log.warn({ file: passwordFile }, 'The password file is gone; the database gets a new password')
    await endLeftover(dataDirectory)
    resetPassword(dataDirectory, { binaries, account, password })
    writePassword(passwordFile, password)
  }
  return readPassword(servicePasswordFile) ?? (await addServiceLogin(layout, binaries, account, log))
}

/** The file is written last: while it is missing, a start that was killed in between is done again. */
async function addServiceLogin(
  { dataDirectory, servicePasswordFile }: Layout,
  binaries: Binaries,
  account: Account,
  log: Log,
): Promise<string> {
  log.info({ role: SERVICE_USER }, 'The database is given to a login that is no superuser')
  await endLeftover(dataDirectory)
  const password = makePassword()
  makeServiceLogin(dataDirectory, { binaries, account, password })
  writePassword(servicePasswordFile, password)
  return password
}

/**
 * Writes the settings when they differ from those of the last start, and ends a server that still runs with
 * those, before the file says otherwise. Gives the directory of the socket.
 */
async function prepareSettings(
  { dataDirectory, configFile, socketDirectory }: Layout,
  account: Account,
): Promise<string> {
  // Whoever answers requests for root comes through the socket, without root's right to pass everywhere.
  const guests = account.switched
    ? (findServiceAccount({ create: true })?.gid ?? process.getegid?.())
    : undefined
  const last = readPostmasterFile(dataDirectory)?.socketDirectory
  const host = makeSocketDirectory(socketDirectory, account, { last, guests })
  // Its directory lets nobody pass but the account and the guests.
  const text = renderSettings(host, guests === undefined ? {} : { unix_socket_permissions: '0777' })
  if (readOwnFile(configFile) !== text) {
    await endLeftover(dataDirectory)
    // The account has to read it, and it holds no secret.
    replaceOwnFile(configFile, text, 0o644)
  }
  return host
}

/** Who owns the newest cluster in a place; undefined when there is none. */
function ownerOf(base: string | undefined): number | undefined {
  const last = base === undefined ? undefined : listClusters(base).at(-1)
  return base === undefined || last === undefined
    ? undefined
    : statSync(layoutOf(base, last).dataDirectory).uid
}
