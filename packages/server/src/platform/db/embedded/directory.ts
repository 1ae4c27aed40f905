import { createHash } from 'node:crypto'
import { accessSync, chmodSync, constants, realpathSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { makeDirectories } from '../../files/make-directory.ts'
import { readOwnFile, refuseUnsafeDirectory, replaceOwnFile, UnsafePath } from '../../files/own-files.ts'
import type { Account } from './account.ts'
import { listClusters } from './layout.ts'
import { EmbeddedRefused } from './refusal.ts'

/** Holds the databases and copied binaries of root if the account cannot reach the checkout. */
export const STATE_DIRECTORY = '/var/lib/keyrail'

/** A file in the wanted directory that names the place of its database elsewhere. It moves with the directory. */
const POINTER = 'postgres-directory'
/** A file in that place that names the wanted directory, which distinguishes a copied pointer from a moved one. */
const BELONGS_TO = 'belongs-to'

/** The directory of a database and its files; `moved` if it is not the wanted one. */
export type ClusterPlace = { base: string; moved: boolean }

/** The place of an existing database, if any. */
export function findPlace(wanted: string, stateDirectory = STATE_DIRECTORY): ClusterPlace | undefined {
  const real = realPath(wanted)
  if (!real) return undefined
  if (listClusters(real).length > 0) return { base: real, moved: false }
  const pointed = readLine(join(real, POINTER))
  if (pointed && listClusters(pointed).length > 0 && !servesAnother(pointed, real)) {
    return { base: pointed, moved: true }
  }
  const usual = usualPlace(real, stateDirectory)
  const isOurs = listClusters(usual).length > 0 && readLine(join(usual, BELONGS_TO)) === real
  return isOurs ? { base: usual, moved: true } : undefined
}

/**
 * Decides where the database is and makes that directory: its existing place; else the wanted directory if the
 * account can reach it; else, as root, `/var/lib/keyrail/<hash of the wanted path>`.
 *
 * @throws EmbeddedRefused if the account cannot reach an existing database any more
 * @throws UnsafePath if others could put files into it
 */
export function choosePlace(
  wanted: string,
  account: Account,
  stateDirectory = STATE_DIRECTORY,
): ClusterPlace {
  makeDirectory(wanted, account)
  refuseUnsafeDirectory(wanted, 'SERVICE_DATA_DIR')
  const real = realpathSync(wanted)
  const found = findPlace(real, stateDirectory)
  if (found && !canReach(found.base, account)) {
    throw new EmbeddedRefused(
      `The database is in ${found.base}, and the account ${account.name}, which Postgres runs under, cannot get ` +
        'there any more: a folder on the way was closed. Open it again with chmod o+x.',
    )
  }
  if (!found && canReach(real, account)) return { base: real, moved: false }
  const place = found ?? { base: freePlace(real, stateDirectory), moved: true }
  if (place.moved) {
    makeDirectory(place.base, account)
    refuseUnsafeDirectory(place.base, 'SERVICE_DATA_DIR')
    replaceOwnFile(join(place.base, BELONGS_TO), `${real}\n`, 0o644)
    replaceOwnFile(join(real, POINTER), `${place.base}\n`, 0o644)
  }
  return place
}

/** Whether the account may enter every folder of the path. */
export function canReach(path: string, account: Account): boolean {
  if (!account.switched) return true
  const { uid, gid, mode } = statSync(path)
  const bit = uid === account.uid ? 0o100 : gid === account.gid ? 0o010 : 0o001
  const parent = dirname(path)
  return (mode & bit) !== 0 && (parent === path || canReach(parent, account))
}

/**
 * Makes a directory and its missing parents: as root open to pass through, else private. Existing ones keep
 * their mode.
 *
 * @throws EmbeddedRefused if this account cannot make or write to it
 */
export function makeDirectory(path: string, account: Account): void {
  const mode = account.switched ? 0o755 : 0o700
  try {
    const first = makeDirectories(path, mode)
    accessSync(path, constants.W_OK | constants.X_OK)
    if (first === undefined) return
    // The process's umask may have removed bits.
    for (let made = resolve(path); made.length >= first.length; made = dirname(made)) chmodSync(made, mode)
  } catch (error) {
    throw new EmbeddedRefused(
      `The directory ${path} cannot be used: ${(error as Error).message}. Set another one with SERVICE_DATA_DIR.`,
      { cause: error },
    )
  }
}

/** Two clones side by side have different paths, and so different places. */
function usualPlace(real: string, stateDirectory: string): string {
  return join(stateDirectory, createHash('sha256').update(real).digest('hex').slice(0, 16))
}

/** Returns a free place. The usual place may belong to a checkout that was here once and moved with its pointer. */
function freePlace(real: string, stateDirectory: string): string {
  const usual = usualPlace(real, stateDirectory)
  let place = usual
  for (let n = 2; listClusters(place).length > 0; n += 1) place = `${usual}-${n}`
  return place
}

/** True for a copied checkout: the original still exists and points to the same place. */
function servesAnother(base: string, real: string): boolean {
  const owner = readLine(join(base, BELONGS_TO))
  return owner !== undefined && owner !== real && readLine(join(owner, POINTER)) === base
}

function realPath(path: string): string | undefined {
  try {
    return realpathSync(path)
  } catch {
    return undefined
  }
}

function readLine(path: string): string | undefined {
  try {
    return readOwnFile(path)?.trim() || undefined
  } catch (error) {
    // A pointer that others control must not start a second database.
    if (error instanceof UnsafePath) throw error
    return undefined
  }
}
