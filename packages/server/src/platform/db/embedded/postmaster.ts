import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Account, spawnIdentity } from './account.ts'
import { type Binaries, POSTGRES_ENV } from './binaries.ts'
import { readPostmasterFile } from './postmaster-file.ts'
import { isAlive, processesIn } from './processes.ts'

/** All that is needed to start one particular postmaster, again and again. */
export type Launch = {
  binaries: Binaries
  account: Account
  dataDirectory: string
  configFile: string
  logFile: string
  env: Record<string, string>
}

/** How often a state that Postgres announces only in a file or by dying is looked at, in milliseconds. */
const LOOK_EVERY_MS = 10
/** A fast shutdown ends with a checkpoint, which takes long on a slow disk; past this it is broken off. */
const FAST_STOP_MS = 30_000
const IMMEDIATE_STOP_MS = 5_000

/** The arguments a postmaster is started with; compared with a running one's before it is adopted. */
export function launchArguments({ dataDirectory, configFile }: Launch): string[] {
  return ['-D', dataDirectory, '-c', `config_file=${configFile}`]
}

/**
 * Starts a postmaster and waits until it takes connections, crash recovery included, however long that takes.
 * It leads a session of its own: a terminal's Ctrl-C reaches us alone, and it outlives us.
 *
 * @throws Error with what Postgres logged, when it ends instead
 */
export async function launchPostmaster(launch: Launch): Promise<ChildProcess & { pid: number }> {
  const log = openSync(launch.logFile, 'a', 0o600)
  const logStart = fstatSync(log).size
  let child: ChildProcess
  try {
    child = spawn(join(launch.binaries.bin, 'postgres'), launchArguments(launch), {
      detached: true,
      stdio: ['ignore', log, log],
      env: { ...POSTGRES_ENV, ...launch.env },
      cwd: '/',
      ...spawnIdentity(launch.account),
    })
    await new Promise((resolve, reject) => child.once('spawn', resolve).once('error', reject))
  } finally {
    closeSync(log)
  }
  child.unref()
  const { pid } = child
  if (pid === undefined) throw new Error('Postgres did not start')
  await untilReady(launch.dataDirectory, pid, () => readFrom(launch.logFile, logStart))
  return Object.assign(child, { pid })
}

/** Waits until the postmaster with this pid says that it is ready. */
export async function untilReady(dataDirectory: string, pid: number, logged: () => string): Promise<void> {
  for (;;) {
    const file = readPostmasterFile(dataDirectory)
    if (file?.pid === pid && file.status === 'ready') return
    if (!isAlive(pid)) throw new Error(`Postgres ended while it started: ${logged().trim() || 'no message'}`)
    await sleep(LOOK_EVERY_MS)
  }
}

/**
 * Fast shutdown (clients are cut off, a checkpoint is written), then immediate, then kill.
 *
 * @param fastMs how long the fast one may take; 0 leaves it out
 */
export async function stopPostmaster(
  dataDirectory: string,
  pid: number,
  { fastMs = FAST_STOP_MS }: { fastMs?: number } = {},
): Promise<void> {
  if (!isAlive(pid)) return
  if (fastMs > 0) {
    sendSignal(pid, 'SIGINT')
    if (await untilGone(() => isAlive(pid), fastMs)) return
  }
  sendSignal(pid, 'SIGQUIT')
  if (await untilGone(() => isAlive(pid), IMMEDIATE_STOP_MS)) return
  sendSignal(pid, 'SIGKILL')
  await clearOrphans(dataDirectory)
}

/**
 * Waits for the children of a killed postmaster to notice and go, and ends those that do not: while one of them
 * holds the shared memory no new postmaster may touch the files.
 */
export async function clearOrphans(dataDirectory: string, patienceMs = 1_000): Promise<void> {
  if (await untilGone(() => processesIn(dataDirectory).length > 0, patienceMs)) return
  for (const pid of processesIn(dataDirectory)) sendSignal(pid, 'SIGKILL')
  await untilGone(() => processesIn(dataDirectory).length > 0, IMMEDIATE_STOP_MS)
}

/** True as soon as `there` is false, false when it still is not after the time. */
async function untilGone(there: () => boolean, waitMs: number): Promise<boolean> {
  const end = performance.now() + waitMs
  while (there()) {
    if (performance.now() > end) return false
    await sleep(LOOK_EVERY_MS)
  }
  return true
}

function sendSignal(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

/** What was appended to a log since, at most the last 4 KiB. */
function readFrom(path: string, start: number): string {
  const file = openSync(path, 'r')
  try {
    const buffer = Buffer.alloc(4096)
    const position = Math.max(start, fstatSync(file).size - buffer.length)
    return buffer.toString('utf8', 0, readSync(file, buffer, 0, buffer.length, position))
  } finally {
    closeSync(file)
  }
}
