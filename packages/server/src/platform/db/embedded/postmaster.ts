import { spawn } from 'node:child_process'
import { closeSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { openOwnLog } from '../../files/own-files.ts'
import { type Account, spawnIdentity } from './account.ts'
import { type Binaries, POSTGRES_ENV } from './binaries.ts'
import { readPostmasterFile } from './postmaster-file.ts'
import { findProcess, isAlive, processesIn, type Running, sendSignal } from './processes.ts'
import { readLogFrom, sizeOfLog } from './server-log.ts'

/** Everything needed to start one particular postmaster, repeatedly. */
export type Launch = {
  binaries: Binaries
  account: Account
  dataDirectory: string
  /** The actual directory of the socket, which only this server uses. */
  socketDirectory: string
  configFile: string
  logFile: string
  /** Added to Postgres's minimal environment. */
  env: Record<string, string>
}

/** A postmaster that this process started, and the length of the log before that, to find its messages. */
type Started = Running & { logStart: number }

/** A standby accepts connections for reading. */
const takesConnections = ['ready', 'standby']
/** How often to check a state that only shows in a file or by the end of a process, in milliseconds. */
const LOOK_EVERY_MS = 10
/** A fast shutdown ends with a checkpoint, which is slow on a slow disk; after this it is interrupted. */
const FAST_STOP_MS = 30_000
/** After 5 s, Postgres itself kills the children that an immediate shutdown has not ended. */
const IMMEDIATE_STOP_MS = 8_000
const SHARED_MEMORY_MS = 5_000
/** Idle children of a killed postmaster end within milliseconds; a busy child ends with its statement. */
const ORPHAN_PATIENCE_MS = 500

export function launchArguments({ dataDirectory, configFile }: Launch): string[] {
  return ['-D', dataDirectory, '-c', `config_file=${configFile}`]
}

/**
 * Starts a postmaster in a data directory that has none running, and waits until it accepts connections.
 *
 * @param signal interrupts the start and ends the postmaster
 * @throws Error with Postgres's log if it ends instead
 */
export async function launchPostmaster(launch: Launch, signal?: AbortSignal): Promise<Running> {
  const giveUp = performance.now() + SHARED_MEMORY_MS
  for (;;) {
    const started = await spawnPostmaster(launch)
    try {
      await untilReady(launch, started, signal)
      return started
    } catch (error) {
      await stopPostmaster(launch.dataDirectory, started)
      if (!isSharedMemoryBusy(error) || performance.now() > giveUp) throw error
      await sleep(LOOK_EVERY_MS, undefined, signal ? { signal } : {})
    }
  }
}

/**
 * Whether a killed server's shared memory is still held: the kernel releases it a moment after the last process
 * is gone.
 */
function isSharedMemoryBusy(error: unknown): boolean {
  return error instanceof Error && error.message.includes('pre-existing shared memory block')
}

/**
 * Starts a postmaster in its own session: a terminal's Ctrl-C only reaches this process, which can drain before
 * it stops Postgres; and if this process is killed, Postgres stays.
 */
async function spawnPostmaster(launch: Launch): Promise<Started> {
  const logStart = sizeOfLog(launch.logFile)
  const log = openOwnLog(launch.logFile)
  try {
    const child = spawn(join(launch.binaries.bin, 'postgres'), launchArguments(launch), {
      detached: true,
      stdio: ['ignore', log, log],
      env: { ...POSTGRES_ENV, ...launch.env },
      cwd: '/',
      ...spawnIdentity(launch.account),
    })
    await new Promise((resolve, reject) => child.once('spawn', resolve).once('error', reject))
    child.unref()
    const pid = child.pid ?? 0
    // If the process has ended already, `untilReady` finds out, and can quote the log.
    return { pid, start: findProcess(pid)?.start ?? 'ended', logStart }
  } finally {
    closeSync(log)
  }
}

/** Waits for crash recovery, however long it takes. */
async function untilReady(launch: Launch, started: Started, signal?: AbortSignal): Promise<void> {
  for (;;) {
    const file = readPostmasterFile(launch.dataDirectory)
    if (file?.pid === started.pid && takesConnections.includes(file.status)) return
    if (!isAlive(started)) {
      const logged = readLogFrom(launch.logFile, started.logStart)
      throw new Error(`Postgres ended while it started: ${logged || `nothing in ${launch.logFile}`}`)
    }
    await sleep(LOOK_EVERY_MS, undefined, signal ? { signal } : {})
  }
}

/**
 * Ends a postmaster: fast shutdown (disconnects clients and writes a checkpoint), then immediate shutdown, then kill.
 *
 * @param fastMs how long the fast shutdown may take; 0 skips it
 * @param immediateMs how long the immediate shutdown may take
 */
export async function stopPostmaster(
  dataDirectory: string,
  postmaster: Running,
  { fastMs = FAST_STOP_MS, immediateMs = IMMEDIATE_STOP_MS }: { fastMs?: number; immediateMs?: number } = {},
): Promise<void> {
  const there = () => isAlive(postmaster)
  if (fastMs > 0) sendSignal(postmaster, 'SIGINT')
  if (!(await untilGone(there, fastMs))) {
    sendSignal(postmaster, 'SIGQUIT')
    if (!(await untilGone(there, immediateMs))) sendSignal(postmaster, 'SIGKILL')
  }
  await clearOrphans(dataDirectory)
}

/**
 * Waits for the children of a dead postmaster to end, and ends those that do not: while one of them holds the
 * shared memory, no new postmaster may use the files.
 */
export async function clearOrphans(dataDirectory: string): Promise<void> {
  const there = () => processesIn(dataDirectory).length > 0
  if (await untilGone(there, ORPHAN_PATIENCE_MS)) return
  for (const orphan of processesIn(dataDirectory)) sendSignal(orphan, 'SIGKILL')
  await untilGone(there, IMMEDIATE_STOP_MS)
}

/** True once `there` is false; false if it is still true after the time. */
async function untilGone(there: () => boolean, waitMs: number): Promise<boolean> {
  const end = performance.now() + waitMs
  while (there()) {
    if (performance.now() >= end) return false
    await sleep(LOOK_EVERY_MS)
  }
  return true
}
