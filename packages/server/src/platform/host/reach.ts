import { existsSync, readdirSync, realpathSync, type Stats, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Account } from '../db/embedded/account.ts'
import { canReach } from '../db/embedded/directory.ts'

/** The checkout that this process runs from. */
export const checkout = fileURLToPath(new URL('../../../../..', import.meta.url)).replace(/\/$/, '')

const hasBits = ({ uid, gid, mode }: Stats, account: Account, bits: number) => {
  const shift = uid === account.uid ? 6 : gid === account.gid ? 3 : 0
  return ((mode >> shift) & bits) === bits
}

/** Whether an account can read a file or list a directory. Considers only the mode bits, not access control lists. */
export function mayRead(path: string, account: Account): boolean {
  try {
    const real = realpathSync(path)
    const stats = statSync(real)
    return canReach(dirname(real), account) && hasBits(stats, account, stats.isDirectory() ? 0o5 : 0o4)
  } catch {
    return false
  }
}

/** Whether an account can create files in an existing directory. */
export function mayWriteIn(path: string, account: Account): boolean {
  try {
    const real = realpathSync(path)
    return canReach(dirname(real), account) && hasBits(statSync(real), account, 0o3)
  } catch {
    return false
  }
}

/**
 * Whether an account may connect to a socket. A missing one is no obstacle here, because it is reported
 * elsewhere.
 */
export function mayConnect(path: string, account: Account): boolean {
  try {
    const real = realpathSync(path)
    return canReach(dirname(real), account) && hasBits(statSync(real), account, 0o2)
  } catch {
    return true
  }
}

/**
 * Returns a file of the code that an account cannot read; undefined if it can read everything. Modules are also
 * loaded late, so one check at the start is not enough: it checks every file of the checkout, and the folder and
 * manifest of every package.
 */
export function findUnreadable(account: Account, root = checkout): string | undefined {
  const packages = join(root, 'node_modules')
  if (!mayRead(process.execPath, account)) return process.execPath
  for (const top of [root, packages, join(root, 'packages')]) if (!mayRead(top, account)) return top
  for (const name of [
    'server/src',
    'server/migrations',
    'contract/src',
    'contract/package.json',
    'server/package.json',
  ]) {
    const found = unreadableBelow(join(root, 'packages', name), account)
    if (found !== undefined) return found
  }
  for (const name of ['dashboard', 'dashboard/dist'])
    if (closed(join(root, 'packages', name), account)) return join(root, 'packages', name)
  for (const path of foldersOf(packages)) {
    if (!closed(path, account) && !closed(join(path, 'package.json'), account)) continue
    return path
  }
  return undefined
}

/** The folders of packages, including scoped ones. */
function foldersOf(packages: string): string[] {
  return readdirSync(packages)
    .filter(name => !name.startsWith('.'))
    .flatMap(name => {
      const path = join(packages, name)
      return name.startsWith('@') ? [path, ...readdirSync(path).map(inner => join(path, inner))] : [path]
    })
}

function unreadableBelow(path: string, account: Account): string | undefined {
  if (closed(path, account)) return path
  if (!statSync(path).isDirectory()) return undefined
  for (const { name } of readdirSync(path, { withFileTypes: true })) {
    const found = unreadableBelow(join(path, name), account)
    if (found !== undefined) return found
  }
  return undefined
}

/** Whether a path is closed to the account. Its parents are known to be open. */
function closed(path: string, account: Account): boolean {
  if (!existsSync(path)) return false
  const stats = statSync(path)
  return !hasBits(stats, account, stats.isDirectory() ? 0o5 : 0o4)
}
