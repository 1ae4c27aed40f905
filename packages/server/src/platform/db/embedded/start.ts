/**
 * The Postgres that `npm start` brings. `start.ts` finds its `directory.ts` and takes the `lock.ts`, copies
 * `binaries.ts`, makes the `cluster.ts` (`layout.ts`, `settings.ts`, `version.ts`) for its `account.ts`, ends a
 * `leftover.ts` (`processes.ts`, `postmaster-file.ts`), runs the `postmaster.ts` on a `socket-directory.ts` under
 * `supervise.ts`, with its `server-log.ts`. `service-login.ts` makes the login, `running.ts` finds a running one,
 * `log.ts` and `refusal.ts` are types.
 */

import { existsSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { readOwnFile, replaceOwnFile } from '../../files/own-files.ts'
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
import { connectionsFor, portOf, renderSettings } from './settings.ts'
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
  /** For example `18.4`. */
  serverVersion: string
  /** The postmaster's pid, which changes when Postgres is restarted. */
  readonly pid: number
  /** Fast shutdown, which frees the data directory. A second call waits for the first. */
  stop(): Promise<void>
}

/**
 * Starts the embedded Postgres of a data directory, creating the database on the first start, and restarts it
 * whenever it dies, until `stop`. If this process is killed, Postgres keeps running, and the next start keeps
 * it.
 *
 * @param dataDir the service's data directory (SERVICE_DATA_DIR)
 * @param connections how many the service opens at most
 * @param stateDirectory where root puts what the account cannot reach otherwise
 * @throws EmbeddedRefused if a person must act: another service runs here, no account can run Postgres, or the
 * database has another major version
 */
export async function startEmbedded({
  dataDir,
  log,
  connections = 0,
  stateDirectory = STATE_DIRECTORY,
}: {
  dataDir: string
  log: Log
  connections?: number
  stateDirectory?: string
}): Promise<EmbeddedPostgres> {
  const wanted = resolve(dataDir)
  const account = findAccount(ownerOf(findPlace(wanted, stateDirectory)?.base))
  const { base, moved } = choosePlace(wanted, account, stateDirectory)
  if (moved) {
    log.info(
      { directory: base, account: account.name },
      `Postgres runs as ${account.name}, which cannot reach ${wanted}: the database is in ${base}`,
    )
  }
  const lock = await lockDirectory(base)
  try {
    const binaries = locateBinaries(account, account.switched ? stateDirectory : base)
    refuseOtherMajor(base, binaries.major)
    const layout = layoutOf(base, binaries.major)
    const password = await prepareCluster(layout, binaries, account, log)
    const host = await prepareSettings(layout, account, connections)
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

/** Creates the cluster on the first start. Returns the password of the service's login. */
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
    log.warn({ file: passwordFile }, 'The password file is missing; the database gets a new password')
    await endLeftover(dataDirectory)
    resetPassword(dataDirectory, { binaries, account, password })
    writePassword(passwordFile, password)
  }
  return readPassword(servicePasswordFile) ?? (await addServiceLogin(layout, binaries, account, log))
}

/** The file is written last: while it is missing, a killed start is repeated. */
async function addServiceLogin(
  { dataDirectory, servicePasswordFile }: Layout,
  binaries: Binaries,
  account: Account,
  log: Log,
): Promise<string> {
  log.info({ role: SERVICE_USER }, 'The database is handed over to a login without superuser rights')
  await endLeftover(dataDirectory)
  const password = makePassword()
  makeServiceLogin(dataDirectory, { binaries, account, password })
  writePassword(servicePasswordFile, password)
  return password
}

/**
 * Writes the settings if they have changed, after ending a server that still runs with the old ones. Returns the
 * directory of the socket.
 */
async function prepareSettings(
  { dataDirectory, configFile, socketDirectory }: Layout,
  account: Account,
  connections: number,
): Promise<string> {
  // The account that serves requests for root uses the socket, without root's right to enter every folder.
  const guests = account.switched
    ? (findServiceAccount({ create: true })?.gid ?? process.getegid?.())
    : undefined
  const last = readPostmasterFile(dataDirectory)?.socketDirectory
  const host = makeSocketDirectory(socketDirectory, account, { last, guests })
  // Its directory only admits the account and the guests.
  const text = renderSettings(host, {
    ...(guests !== undefined && { unix_socket_permissions: '0777' }),
    ...connectionsFor(connections),
  })
  if (readOwnFile(configFile) !== text) {
    await endLeftover(dataDirectory)
    // The account must read it, and it contains no secret.
    replaceOwnFile(configFile, text, 0o644)
  }
  return host
}

/** The owner of the newest cluster in a place; undefined if there is none. */
function ownerOf(base: string | undefined): number | undefined {
  const last = base === undefined ? undefined : listClusters(base).at(-1)
  return base === undefined || last === undefined
    ? undefined
    : statSync(layoutOf(base, last).dataDirectory).uid
}
