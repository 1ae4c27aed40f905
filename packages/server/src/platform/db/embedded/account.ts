import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { userInfo } from 'node:os'
import { EmbeddedRefused } from './refusal.ts'

/**
 * The account Postgres runs under. `switched` is true when we are root and every Postgres process has to be
 * started as somebody else, because Postgres refuses to run as root.
 */
export type Account = { name: string; uid: number; gid: number; switched: boolean }

const DEDICATED = 'keyrail'
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

function lookUp(name: string): Account | undefined {
  const uid = idOf('-u', name)
  const gid = idOf('-g', name)
  if (!uid || gid === undefined) return undefined
  return { name: idText('-un', name) ?? name, uid, gid, switched: true }
}

function idOf(flag: string, name: string): number | undefined {
  const text = idText(flag, name)
  return text !== undefined && /^\d+$/.test(text) ? Number(text) : undefined
}

function idText(flag: string, name: string): string | undefined {
  try {
    return execFileSync('id', [flag, name], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim()
  } catch {
    return undefined
  }
}

function create(name: string): Account | undefined {
  const useradd = USERADD.find(path => existsSync(path))
  if (!useradd) return undefined
  try {
    execFileSync(
      useradd,
      [
        '--system',
        '--user-group',
        '--no-create-home',
        '--home-dir',
        '/nonexistent',
        '--shell',
        '/usr/sbin/nologin',
        name,
      ],
      { stdio: 'ignore' },
    )
  } catch {
    // Another start may have created it at the same moment; the look-up below tells.
  }
  return lookUp(name)
}

function noAccount(): never {
  throw new EmbeddedRefused(
    `Postgres refuses to run as root, and no account for it could be found or created. Create one with ` +
      `"useradd --system ${DEDICATED}", start as an ordinary user, or set DATABASE_URL.`,
  )
}
