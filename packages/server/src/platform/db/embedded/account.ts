import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { userInfo } from 'node:os'
import { EmbeddedRefused } from './refusal.ts'

/**
 * The account Postgres runs under. `switched` is true when we are root and every Postgres process has to be
 * started as somebody else, because Postgres refuses to run as root.
 */
export type Account = { name: string; uid: number; gid: number; switched: boolean }

const DEDICATED = 'keyrail'
/** Not the account of Postgres, whose files hold every row and say who is a superuser. */
const SERVICE = 'keyrail-service'
/** Debian's and Red Hat's packages create it; the second choice, since its owner could then read our rows. */
const CUSTOMARY = 'postgres'
const USERADD = ['/usr/sbin/useradd', '/sbin/useradd', '/usr/bin/useradd']

/**
 * Finds, or as root creates, the account for Postgres.
 *
 * @param ownerUid who owns the cluster that is already there, if any: it must stay with that account
 * @throws EmbeddedRefused that says what to do, when there is no account with an entry in the user database
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
        'Create that account, or give the database to another one with chown -R.',
    )
  }
  return lookUp(DEDICATED) ?? create(DEDICATED) ?? lookUp(CUSTOMARY) ?? noAccount()
}

/**
 * Finds, or creates, the account under which a service that root has started answers requests. Undefined when we are
 * not root, or there is no such account and it cannot be created.
 */
export function findServiceAccount({ create: mayCreate }: { create: boolean }): Account | undefined {
  if (process.geteuid?.() !== 0) return undefined
  return lookUp(SERVICE) ?? (mayCreate ? create(SERVICE) : undefined)
}

/** What `child_process.spawn` needs to start a process as this account; libuv drops the extra groups as well. */
export function spawnIdentity(account: Account): { uid?: number; gid?: number } {
  return account.switched ? { uid: account.uid, gid: account.gid } : {}
}

function currentAccount(ownerUid: number | undefined): Account {
  const { username, uid, gid } = currentUser()
  if (ownerUid === undefined || ownerUid === uid) return { name: username, uid, gid, switched: false }
  throw new EmbeddedRefused(
    `The database belongs to user id ${ownerUid}; this is ${username} (${uid}). Start as that account or as root, ` +
      'or take another SERVICE_DATA_DIR.',
  )
}

function currentUser(): { username: string; uid: number; gid: number } {
  try {
    return userInfo()
  } catch (error) {
    // initdb looks its own user up by id and stops when there is no entry, whatever name it is given.
    throw new EmbeddedRefused(
      `User id ${process.geteuid?.()} has no entry in /etc/passwd, and Postgres needs one. ` +
        'Run as an account that has one, or set DATABASE_URL.',
      { cause: error },
    )
  }
}

/** By name or by number. An account with the id of root would be no help. */
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
  // It fails when another start has created it at the same moment: whether it is there is what counts.
  spawnSync(useradd, [...options, '--shell', '/usr/sbin/nologin', name])
  return lookUp(name)
}

function noAccount(): never {
  throw new EmbeddedRefused(
    `Postgres refuses to run as root, and no account for it could be found or created. Create one with ` +
      `"useradd --system ${DEDICATED}", start as an ordinary user, or set DATABASE_URL.`,
  )
}
