import { chownSync, existsSync, lstatSync, mkdirSync, readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Config } from '../../config.ts'
import { type Account, findServiceAccount } from '../../platform/db/embedded/account.ts'
import { canReach } from '../../platform/db/embedded/directory.ts'
import { makeDirectories } from '../../platform/files/make-directory.ts'
import { type Confinement, findConfinement } from '../../platform/host/confinement.ts'
import type { Capability } from '../../platform/host/process-status.ts'
import { checkout, findUnreadable, mayConnect, mayRead, mayWriteIn } from '../../platform/host/reach.ts'
import { allConnections } from '../connections.ts'

/** How the listening process will run, with a sentence for the banner and the doctor. */
export interface Plan {
  confinement: Confinement | null
  keeps: readonly Capability[]
  /** One line. */
  sentence: string
  /** No right could be taken from it. */
  isBare: boolean
}

/**
 * Decides which account the listening process runs as if root starts the service: its own account if that can
 * read everything it needs, else user id 0 without capabilities. Null if this process is not root, which changes
 * nothing.
 *
 * @param create whether to create a missing account
 */
export function planConfinement(config: Config, { create }: { create: boolean }): Plan | null {
  if (process.geteuid?.() !== 0) return null
  const account = findServiceAccount({ create })
  if (account === undefined && !create) {
    const sentence = 'the start creates the account keyrail-service to serve requests'
    return { confinement: null, keeps: [], sentence, isBare: false }
  }
  const obstacle =
    account === undefined ? 'the account keyrail-service does not exist' : findObstacle(config, account)
  const switched = obstacle === undefined ? planFor(config, account) : null
  if (switched !== null) return switched
  const why = obstacle ?? 'this system does not allow changing the user'
  const stripped = planFor(config, undefined, account?.gid)
  if (stripped !== null) return { ...stripped, sentence: `${stripped.sentence}: ${why}` }
  const sentence = `root with all capabilities: ${why}, and setpriv (util-linux) is missing or cannot drop them`
  return { confinement: null, keeps: [], sentence, isBare: true }
}

/**
 * @param account undefined: user id 0.
 * @param gid the group that may use the socket of Postgres; root's if there is none.
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
  (isSealed ? '' : ' (setpriv of util-linux, which also prevents regaining them, is missing)')

/** Something that the account cannot reach; undefined if it reaches everything. */
function findObstacle(config: Config, account: Account): string | undefined {
  const cannot = (what: string) => `${account.name} cannot ${what}`
  const unreadable = findUnreadable(account)
  if (unreadable !== undefined) return cannot(`read ${unreadable}`)
  const { mail } = config
  if (mail.route.kind === 'folder' && !canHaveFolder(mail.route.path, account))
    return cannot(`write mail into ${mail.route.path}`)
  for (const [setting, path] of filesReadBy(config))
    if (path !== null && !mayRead(path, account)) return cannot(`read ${path} of ${setting}`)
  const closed = socketsOf(config).find(path => !mayConnect(path, account))
  if (closed !== undefined) return cannot(`reach ${closed} of DATABASE_URL`)
  if (logsInByName(config))
    return 'DATABASE_URL has no password, so Postgres identifies Keyrail by its account'
  return undefined
}

/** Files that settings name, which the listening process reads while it runs. */
const filesReadBy = ({ codehostKeysFile, tlsCertFile, tlsKeyFile }: Config) =>
  [
    ['SERVICE_CODEHOST_KEYS_FILE', codehostKeysFile],
    ['SERVICE_TLS_CERT_FILE', tlsCertFile],
    ['SERVICE_TLS_KEY_FILE', tlsKeyFile],
  ] as const

/** Whether the account can have the mail folder. A missing folder, or one that root has made, is given to it. */
function canHaveFolder(path: string, account: Account): boolean {
  const found = lstatSync(path, { throwIfNoEntry: false })
  if (found === undefined) return canReach(nearest(dirname(path)), account)
  if (!canReach(dirname(path), account)) return false
  return mayWriteIn(path, account) || isRootsOwn(path)
}

function nearest(path: string): string {
  return lstatSync(path, { throwIfNoEntry: false }) === undefined ? nearest(dirname(path)) : path
}

/** A folder as an earlier start by root left it. */
function isRootsOwn(path: string): boolean {
  const stats = lstatSync(path, { throwIfNoEntry: false })
  return stats?.isDirectory() === true && stats.uid === 0 && (stats.mode & 0o077) === 0
}

/** Makes the mail folder and gives it to the user id of the service. */
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

/** The sockets of a Postgres on this machine. */
function socketsOf(config: Config): string[] {
  return allConnections(config)
    .filter(({ host }) => host?.startsWith('/'))
    .map(({ host, port }) => `${host}/.s.PGSQL.${port ?? 5432}`)
}

/**
 * A local server without a password identifies the client by its account, or root's password file has the
 * password.
 */
const logsInByName = (config: Config) =>
  !config.hasPgPassword && allConnections(config).some(({ password }) => !password)

const unprivilegedPorts = '/proc/sys/net/ipv4/ip_unprivileged_port_start'

/** @param isRoot whether it keeps user id 0, which without capabilities only has root's own files. */
function neededCapabilities(config: Config, isRoot: boolean): Capability[] {
  const { port, metricsPort } = config
  const first = Number(readIfThere(unprivilegedPorts) ?? 1024)
  const isLow = [port, metricsPort].some(one => one !== null && one > 0 && one < first)
  const asNobodySpecial: Account = { name: 'root', uid: 0, gid: 0, switched: true }
  const isClosedFile = filesReadBy(config).some(
    ([, path]) => path !== null && existsSync(path) && !mayRead(path, asNobodySpecial),
  )
  const isElsewhere = isRoot && (isClosedFile || findUnreadable(asNobodySpecial, checkout) !== undefined)
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
