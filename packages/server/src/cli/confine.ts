import { chownSync, lstatSync, mkdirSync, readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Config } from '../config.ts'
import { type Connection, connectionFromUrl } from '../platform/db/connection.ts'
import { type Account, findServiceAccount } from '../platform/db/embedded/account.ts'
import { canReach } from '../platform/db/embedded/directory.ts'
import { type Confinement, findConfinement } from '../platform/host/confinement.ts'
import type { Capability } from '../platform/host/process-status.ts'
import { checkout, findUnreadable, mayConnect, mayRead, mayWriteIn } from '../platform/host/reach.ts'
import { makeDirectories } from '../platform/make-directory.ts'

/** How the process that listens will run, and in words for the banner and the doctor. */
export interface Plan {
  confinement: Confinement | null
  keeps: readonly Capability[]
  /** One line. */
  sentence: string
  /** Nothing could be taken from it. */
  isBare: boolean
}

/**
 * Decides as what the listening process runs, where root starts the service: as an account of its own when that can
 * read all that is needed, else as user id 0 without capabilities. Null where we are not root: nothing changes then.
 *
 * @param create whether the account is created when it is missing
 */
export function planConfinement(config: Config, { create }: { create: boolean }): Plan | null {
  if (process.geteuid?.() !== 0) return null
  const account = findServiceAccount({ create })
  if (account === undefined && !create) {
    const sentence = 'the start creates the account keyrail-service to answer requests as'
    return { confinement: null, keeps: [], sentence, isBare: false }
  }
  const obstacle =
    account === undefined ? 'there is no account keyrail-service' : findObstacle(config, account)
  const switched = obstacle === undefined ? planFor(config, account) : null
  if (switched !== null) return switched
  const why = obstacle ?? 'this system does not let us change the user'
  const stripped = planFor(config, undefined, account?.gid)
  if (stripped !== null) return { ...stripped, sentence: `${stripped.sentence}: ${why}` }
  const sentence = `root with all capabilities: ${why}, and setpriv (util-linux) is missing or may not take them away`
  return { confinement: null, keeps: [], sentence, isBare: true }
}

/**
 * @param account undefined: it stays user id 0.
 * @param gid the group that comes to the socket of Postgres; root's where there is none.
 */
function planFor(config: Config, account: Account | undefined, gid = 0): Plan | null {
  const isRoot = account === undefined
  const keeps = neededCapabilities(config, isRoot)
  const confinement = findConfinement({ account, groups: isRoot ? [gid] : [], keeps })
  if (confinement === null) return null
  const who = isRoot ? 'user id 0' : `${account.name} (user id ${account.uid})`
  return { confinement, keeps, sentence: `${who}, ${held(keeps, confinement)}`, isBare: false }
}

const held = (keeps: readonly Capability[], { isSealed }: Confinement) =>
  (keeps.length === 0 ? 'without capabilities' : `with no capability but ${keeps.join(' and ')}`) +
  (isSealed ? '' : ' (setpriv of util-linux, which also closes the way back, is missing)')

/** What the account could not get at; undefined when it needs nothing more. */
function findObstacle(config: Config, account: Account): string | undefined {
  const cannot = (what: string) => `${account.name} cannot ${what}`
  const unreadable = findUnreadable(account)
  if (unreadable !== undefined) return cannot(`read ${unreadable}`)
  const { mail, codehostKeysFile } = config
  if (mail.route.kind === 'folder' && !canHaveFolder(mail.route.path, account))
    return cannot(`write mail into ${mail.route.path}`)
  if (codehostKeysFile !== null && !mayRead(codehostKeysFile, account))
    return cannot(`read ${codehostKeysFile} of SERVICE_CODEHOST_KEYS_FILE`)
  const closed = socketsOf(config).find(path => !mayConnect(path, account))
  if (closed !== undefined) return cannot(`reach ${closed} of DATABASE_URL`)
  if (logsInByName(config)) return 'DATABASE_URL has no password, so Postgres knows us by who we are'
  return undefined
}

/** A folder that is missing, or that root has made for itself, is made the account's. */
function canHaveFolder(path: string, account: Account): boolean {
  const found = lstatSync(path, { throwIfNoEntry: false })
  if (found === undefined) return canReach(nearest(dirname(path)), account)
  if (!canReach(dirname(path), account)) return false
  return mayWriteIn(path, account) || isRootsOwn(path)
}

function nearest(path: string): string {
  return lstatSync(path, { throwIfNoEntry: false }) === undefined ? nearest(dirname(path)) : path
}

/** As an earlier start by root left it. */
function isRootsOwn(path: string): boolean {
  const stats = lstatSync(path, { throwIfNoEntry: false })
  return stats?.isDirectory() === true && stats.uid === 0 && (stats.mode & 0o077) === 0
}

/** Makes the folder of mail, and lets whoever runs the service write into it. */
export function prepareMailFolder({ mail: { route } }: Config, uid: number): void {
  if (route.kind !== 'folder') return
  if (lstatSync(route.path, { throwIfNoEntry: false }) === undefined) {
    makeDirectories(dirname(route.path), 0o755)
    mkdirSync(route.path, 0o700)
  }
  const stats = lstatSync(route.path)
  const isServices = stats.isDirectory() && stats.uid === findServiceAccount({ create: false })?.uid
  if ((isRootsOwn(route.path) || isServices) && stats.uid !== uid) chownSync(route.path, uid, -1)
}

/** Of a Postgres that runs here and is reached without a network. */
function socketsOf(config: Config): string[] {
  return connectionsOf(config)
    .filter(({ host }) => host?.startsWith('/'))
    .map(({ host, port }) => `${host}/.s.PGSQL.${port ?? 5432}`)
}

const connectionsOf = ({ databaseUrl, databaseDirectUrl }: Config): Connection[] =>
  [databaseUrl, databaseDirectUrl].filter(url => url !== null).map(connectionFromUrl)

/** A local server without a password asks the system who we are, or a file of root's has the password. */
const logsInByName = (config: Config) => connectionsOf(config).some(({ password }) => !password)

const unprivilegedPorts = '/proc/sys/net/ipv4/ip_unprivileged_port_start'

/** @param isRoot whether it stays user id 0, which owns what is root's, and nothing else. */
function neededCapabilities(config: Config, isRoot: boolean): Capability[] {
  const { port, metricsPort } = config
  const first = Number(readIfThere(unprivilegedPorts) ?? 1024)
  const isLow = [port, metricsPort].some(one => one !== null && one > 0 && one < first)
  const asNobodySpecial: Account = { name: 'root', uid: 0, gid: 0, switched: true }
  const isElsewhere = isRoot && findUnreadable(asNobodySpecial, checkout) !== undefined
  const isClosed = isRoot && socketsOf(config).some(path => !mayConnect(path, asNobodySpecial))
  return [
    ...(isClosed ? ['dac_override' as const] : []),
    ...(isElsewhere ? ['dac_read_search' as const] : []),
    ...(isLow ? ['net_bind_service' as const] : []),
  ]
}

function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}
