import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { chownSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { readOwnFile, replaceOwnFile } from '../../files/own-files.ts'
import { type Account, spawnIdentity } from './account.ts'
import { type Binaries, POSTGRES_ENV } from './binaries.ts'

/** The superuser of every embedded cluster. Only the code that starts Postgres uses it. */
export const SUPERUSER = 'keyrail'
export const DATABASE = 'keyrail'

export function readPassword(path: string): string | undefined {
  return readOwnFile(path)?.trim() || undefined
}

/** 256 random bits, in letters that need no quoting anywhere. */
export function makePassword(): string {
  return randomBytes(32).toString('base64url')
}

/** Writes the file atomically, readable only by this account. */
export function writePassword(path: string, password: string): void {
  replaceOwnFile(path, `${password}\n`)
}

/**
 * Creates the cluster: UTF8, locale C, checksums, scram for every login, and the database. It is made under
 * another name and renamed at the end, so that a killed start leaves nothing that looks like a cluster.
 *
 * @param sync false for a cluster that may be lost with the machine
 * @param login statements that make the service's login; empty if every client is the superuser
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
  // initdb reads the password from a file that it must open itself; ours belongs to root.
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
 * Removes what killed starts have left. Their initdb may still be running and make files meanwhile; it fails
 * soon, and then the rest is removed. (rmSync reports no error if a folder was refilled during the removal.)
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

/** Gives the superuser of a stopped cluster a new password, because its password file was lost. */
export function resetPassword(
  dataDirectory: string,
  options: { binaries: Binaries; account: Account; password: string },
): void {
  runSingleUser(dataDirectory, [`ALTER ROLE ${SUPERUSER} PASSWORD '${options.password}'`], {
    ...options,
    sync: true,
  })
}

/**
 * Runs statements of one line each as the superuser on a stopped cluster, in Postgres's single-user mode, which
 * asks for no password.
 */
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
  // It exits with 0 even if the statement failed.
  if (/\b(ERROR|FATAL|PANIC):/.test(output)) throw new Error(`Postgres refused a statement: ${output.trim()}`)
}

/** Runs one of the two programs to its end and returns everything that it printed. */
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
