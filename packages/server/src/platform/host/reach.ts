import { existsSync, readdirSync, realpathSync, type Stats, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Account } from '../db/embedded/account.ts'
import { canReach } from '../db/embedded/directory.ts'

/** The checkout that we run from. */
export const checkout = fileURLToPath(new URL('../../../../..', import.meta.url)).replace(/\/$/, '')

const hasBits = ({ uid, gid, mode }: Stats, account: Account, bits: number) => {
  const shift = uid === account.uid ? 6 : gid === account.gid ? 3 : 0
  return ((mode >> shift) & bits) === bits
}

/** Whether an account can read a file or list a directory, by the bits alone: an access list is not looked at. */
export function mayRead(path: string, account: Account): boolean {
  try {
    const real = realpathSync(path)
    const stats = statSync(real)
    return canReach(dirname(real), account) && hasBits(stats, account, stats.isDirectory() ? 0o5 : 0o4)
  } catch {
    return false
  }
}

/** Whether an account can make files in a directory that is there. */
export function mayWriteIn(path: string, account: Account): boolean {
  try {
    const real = realpathSync(path)
    return canReach(dirname(real), account) && hasBits(statSync(real), account, 0o3)
  } catch {
    return false
  }
}

/** Whether an account may connect to a socket. One that is not there is no obstacle: that is told of otherwise. */
export function mayConnect(path: string, account: Account): boolean {
  try {
    const real = realpathSync(path)
    return canReach(dirname(real), account) && hasBits(statSync(real), account, 0o2)
  } catch {
    return true
  }
}

/**
 * What of the code an account cannot read; undefined when it can read all. Modules are loaded late as well, so one look
 * at the first of them is not enough: every file of ours counts, and of every package its folder and its manifest.
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
  for (const path of foldersOf(packages)) {
    if (!closed(path, account) && !closed(join(path, 'package.json'), account)) continue
    return path
  }
  return undefined
}

/** Folders of packages, those of a scope too. */
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

/** Of a path whose parents are known to be open. */
function closed(path: string, account: Account): boolean {
  if (!existsSync(path)) return false
  const stats = statSync(path)
  return !hasBits(stats, account, stats.isDirectory() ? 0o5 : 0o4)
}
