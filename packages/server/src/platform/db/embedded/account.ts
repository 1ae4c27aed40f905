import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { userInfo } from 'node:os'
import { EmbeddedRefused } from './refusal.ts'

/**
 * The account that Postgres runs under. `switched` is true if this process is root and must start every Postgres
 * process as another account, because Postgres refuses to run as root.
 */
export type Account = { name: string; uid: number; gid: number; switched: boolean }

const DEDICATED = 'keyrail'
/** Not Postgres's account, whose files contain every row and the superusers. */
const SERVICE = 'keyrail-service'
/** Debian's and Red Hat's packages create it. It is the second choice, because its owner could read our rows. */
const CUSTOMARY = 'postgres'
const USERADD = ['/usr/sbin/useradd', '/sbin/useradd', '/usr/bin/useradd']

/**
 * Finds the account for Postgres, or as root creates it.
 *
 * @param ownerUid the owner of an existing cluster, which must stay with that account
 * @throws EmbeddedRefused saying what to do if no account has an entry in the user database
 */
export function findAccount(ownerUid?: number): Account {
  const uid = process.geteuid?.()
  if (uid === undefined) {
    throw new EmbeddedRefused('The embedded Postgres needs Linux or macOS. Set DATABASE_URL instead.')
  }
  if (uid !== 0) return currentAccount(ownerUid)
  if (ownerUid === 0) {
    throw new EmbeddedRefused(
      `The database's files belong to root, and Postgres refuses to run as root. Give them to an account with ` +
        `chown -R ${DEDICATED} (useradd --system ${DEDICATED} creates it).`,
    )
  }
  if (ownerUid !== undefined) {
    const owner = lookUp(String(ownerUid))
    if (owner) return owner
    throw new EmbeddedRefused(
      `The database belongs to user id ${ownerUid}, which has no entry in /etc/passwd. ` +
        'Create that account, or change the owner of the database with chown -R.',
    )
  }
  return lookUp(DEDICATED) ?? create(DEDICATED) ?? lookUp(CUSTOMARY) ?? noAccount()
}

/**
 * Finds or creates the account that serves requests if root has started the service. Undefined if this process
 * is not root, or if the account is missing and cannot be created.
 */
export function findServiceAccount({ create: mayCreate }: { create: boolean }): Account | undefined {
  if (process.geteuid?.() !== 0) return undefined
  return lookUp(SERVICE) ?? (mayCreate ? create(SERVICE) : undefined)
}

/**
 * The options with which `child_process.spawn` starts a process as this account; libuv also drops the extra
 * groups.
 */
export function spawnIdentity(account: Account): { uid?: number; gid?: number } {
  return account.switched ? { uid: account.uid, gid: account.gid } : {}
}

function currentAccount(ownerUid: number | undefined): Account {
  const { username, uid, gid } = currentUser()
  if (ownerUid === undefined || ownerUid === uid) return { name: username, uid, gid, switched: false }
  throw new EmbeddedRefused(
    `The database belongs to user id ${ownerUid}; this is ${username} (${uid}). Start as that account or as root, ` +
      'or set another SERVICE_DATA_DIR.',
  )
}

function currentUser(): { username: string; uid: number; gid: number } {
  try {
    return userInfo()
  } catch (error) {
    // initdb looks its own user up by id and fails without an entry, whatever name it is given.
    throw new EmbeddedRefused(
      `User id ${process.geteuid?.()} has no entry in /etc/passwd, and Postgres needs one. ` +
        'Run as an account that has one, or set DATABASE_URL.',
      { cause: error },
    )
  }
}

/** Looks an account up by name or number. An account with root's id would be no help. */
function lookUp(nameOrUid: string): Account | undefined {
  const [name, , uid, gid] = output('getent', ['passwd', nameOrUid])?.split(':') ?? idsBySystem(nameOrUid)
  if (!name || !Number(uid) || !gid) return undefined
  return { name, uid: Number(uid), gid: Number(gid), switched: true }
}

/** In the order of a line of /etc/passwd; macOS has no getent. */
function idsBySystem(nameOrUid: string): (string | undefined)[] {
  const ask = (flag: string) => output('id', [flag, nameOrUid])
  return [ask('-un'), '', ask('-u'), ask('-g')]
}

function output(command: string, args: string[]): string | undefined {
  const { status, stdout } = spawnSync(command, args, { encoding: 'utf8' })
  return status === 0 ? stdout.trim() : undefined
}

function create(name: string): Account | undefined {
  const useradd = USERADD.find(path => existsSync(path))
  if (!useradd) return undefined
  const options = ['--system', '--user-group', '--no-create-home', '--home-dir', '/nonexistent']
  // It fails if another start created the account at the same moment; what counts is that it exists.
  spawnSync(useradd, [...options, '--shell', '/usr/sbin/nologin', name])
  return lookUp(name)
}

function noAccount(): never {
  throw new EmbeddedRefused(
    `Postgres refuses to run as root, and no account for it could be found or created. Create one with ` +
      `"useradd --system ${DEDICATED}", start as an ordinary user, or set DATABASE_URL.`,
  )
}
