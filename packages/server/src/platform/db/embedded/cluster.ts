import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { chownSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { readOwnFile, replaceOwnFile } from '../../own-files.ts'
import { type Account, spawnIdentity } from './account.ts'
import { type Binaries, POSTGRES_ENV } from './binaries.ts'

/** Superuser of every embedded cluster. Only what starts Postgres uses it. */
export const SUPERUSER = 'keyrail'
export const DATABASE = 'keyrail'

export function readPassword(path: string): string | undefined {
  return readOwnFile(path)?.trim() || undefined
}

/** 256 random bits, in letters that need no quoting anywhere. */
export function makePassword(): string {
  return randomBytes(32).toString('base64url')
}

/** Whole or not at all, and readable by us alone. */
export function writePassword(path: string, password: string): void {
  replaceOwnFile(path, `${password}\n`)
}

/**
 * Creates the cluster: UTF8, locale C, checksums, scram for everyone, and the database. It is made under another
 * name and renamed at the end, so that a start killed in the middle leaves nothing that looks like a cluster.
 *
 * @param sync false for a cluster that may be lost with the machine
 * @param login statements that make the service's own login; none where everybody is the superuser
 */
export async function createCluster(
  dataDirectory: string,
  {
    binaries,
    account,
    password,
    sync,
    login = [],
  }: {
    binaries: Binaries
    account: Account
    password: string
    sync: boolean
    login?: readonly string[]
  },
): Promise<void> {
  const parent = dirname(dataDirectory)
  await removeHalfMade(parent)
  const staging = join(parent, `creating-${process.pid}`)
  const passwordFile = join(parent, `creating-${process.pid}.password`)
  mkdirSync(staging, { mode: 0o700 })
  // initdb reads the password from a file it can open itself; ours belongs to root.
  writeFileSync(passwordFile, password, { mode: 0o600, flag: 'wx' })
  if (account.switched) {
    chownSync(staging, account.uid, account.gid)
    chownSync(passwordFile, account.uid, account.gid)
  }
  try {
    run(binaries, account, 'initdb', [
      `--pgdata=${staging}`,
      `--username=${SUPERUSER}`,
      `--pwfile=${passwordFile}`,
      '--auth=scram-sha-256',
      '--encoding=UTF8',
      '--locale=C',
      '--data-checksums',
      ...(sync ? [] : ['--no-sync']),
    ])
    runSingleUser(staging, [`CREATE DATABASE ${DATABASE}`, ...login], { binaries, account, sync })
    renameSync(staging, dataDirectory)
  } finally {
    rmSync(passwordFile, { force: true })
    rmSync(staging, { recursive: true, force: true })
  }
}

/**
 * What starts that were killed left behind. Their initdb may still run and make files while we remove them; it
 * fails soon, and then they go. (rmSync itself reports no error when a folder filled again under it.)
 */
async function removeHalfMade(parent: string): Promise<void> {
  for (const name of readdirSync(parent).filter(name => name.startsWith('creating-'))) {
    const path = join(parent, name)
    for (let tries = 0; existsSync(path) && tries < 100; tries += 1) {
      if (tries > 0) await sleep(50)
      rmSync(path, { recursive: true, force: true })
    }
  }
}

/** Gives the superuser a new password on a stopped cluster: its password file was lost. */
export function resetPassword(
  dataDirectory: string,
  options: { binaries: Binaries; account: Account; password: string },
): void {
  runSingleUser(dataDirectory, [`ALTER ROLE ${SUPERUSER} PASSWORD '${options.password}'`], {
    ...options,
    sync: true,
  })
}

/** Postgres's single-user mode: statements of a line each, as the superuser, on a stopped cluster; no password asked. */
export function runSingleUser(
  dataDirectory: string,
  statements: readonly string[],
  {
    binaries,
    account,
    sync,
    database = 'template1',
  }: { binaries: Binaries; account: Account; sync: boolean; database?: string },
): void {
  const args = ['--single', '-D', dataDirectory, '-c', `fsync=${sync ? 'on' : 'off'}`, database]
  const output = run(binaries, account, 'postgres', args, statements.map(one => `${one}\n`).join(''))
  // It exits with 0 even when the statement failed.
  if (/\b(ERROR|FATAL|PANIC):/.test(output)) throw new Error(`Postgres refused a statement: ${output.trim()}`)
}

/** Runs one of the two programs to its end and returns everything it printed. */
function run(binaries: Binaries, account: Account, program: string, args: string[], input = ''): string {
  const { status, signal, error, stdout, stderr } = spawnSync(join(binaries.bin, program), args, {
    input,
    encoding: 'utf8',
    env: POSTGRES_ENV,
    cwd: '/',
    ...spawnIdentity(account),
  })
  if (error) throw new Error(`${program} could not be run: ${error.message}`, { cause: error })
  if (status !== 0)
    throw new Error(`${program} failed (${signal ?? status}): ${stderr.trim() || stdout.trim()}`)
  return stdout + stderr
}
