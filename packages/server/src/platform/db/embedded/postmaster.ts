import { spawn } from 'node:child_process'
import { closeSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { openOwnLog } from '../../own-files.ts'
import { type Account, spawnIdentity } from './account.ts'
import { type Binaries, POSTGRES_ENV } from './binaries.ts'
import { readPostmasterFile } from './postmaster-file.ts'
import { findProcess, isAlive, processesIn, type Running, sendSignal } from './processes.ts'
import { readLogFrom, sizeOfLog } from './server-log.ts'

/** All that is needed to start one particular postmaster, again and again. */
export type Launch = {
  binaries: Binaries
  account: Account
  dataDirectory: string
  /** Where the socket really lies; it is this server's alone. */
  socketDirectory: string
  configFile: string
  logFile: string
  /** Added to the bare environment that Postgres gets. */
  env: Record<string, string>
}

/** A postmaster we started, and how long the log was before, so that its own words can be found. */
type Started = Running & { logStart: number }

/** A standby takes them for reading. */
const takesConnections = ['ready', 'standby']
/** How often a state that Postgres announces only in a file or by dying is looked at, in milliseconds. */
const LOOK_EVERY_MS = 10
/** A fast shutdown ends with a checkpoint, which takes long on a slow disk; past this it is broken off. */
const FAST_STOP_MS = 30_000
/** Postgres itself kills children that an immediate shutdown has not ended after 5 s. */
const IMMEDIATE_STOP_MS = 8_000
const SHARED_MEMORY_MS = 5_000
/** Idle children of a killed postmaster leave within milliseconds; a busy one not before its statement ends. */
const ORPHAN_PATIENCE_MS = 500

export function launchArguments({ dataDirectory, configFile }: Launch): string[] {
  return ['-D', dataDirectory, '-c', `config_file=${configFile}`]
}

/**
 * Starts a postmaster in a data directory in which none runs, and waits until it takes connections.
 *
 * @param signal breaks off; then the postmaster is ended again
 * @throws Error with what Postgres logged, when it ends instead
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

/** Of a server that was killed: the kernel gives it back a moment later, and no process is to be seen any more. */
function isSharedMemoryBusy(error: unknown): boolean {
  return error instanceof Error && error.message.includes('pre-existing shared memory block')
}

/**
 * Starts a postmaster. It leads a session of its own: a terminal's Ctrl-C reaches us alone, so that we can drain
 * before we stop it; and should we be killed, it stays.
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
    // One that ended already is found out by untilReady, which can quote the log.
    return { pid, start: findProcess(pid)?.start ?? 'ended', logStart }
  } finally {
    closeSync(log)
  }
}

/** Crash recovery is waited for, however long it takes. */
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
 * Fast shutdown (clients are cut off, a checkpoint is written), then immediate, then kill.
 *
 * @param fastMs how long the fast one may take; 0 leaves it out
 * @param immediateMs how long the immediate one may take
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
 * Waits for the children of a dead postmaster to notice and go, and ends those that do not: while one of them
 * holds the shared memory, no new postmaster may touch the files.
 */
export async function clearOrphans(dataDirectory: string): Promise<void> {
  const there = () => processesIn(dataDirectory).length > 0
  if (await untilGone(there, ORPHAN_PATIENCE_MS)) return
  for (const orphan of processesIn(dataDirectory)) sendSignal(orphan, 'SIGKILL')
  await untilGone(there, IMMEDIATE_STOP_MS)
}

/** True as soon as `there` is false, false when it still is not after the time. */
async function untilGone(there: () => boolean, waitMs: number): Promise<boolean> {
  const end = performance.now() + waitMs
  while (there()) {
    if (performance.now() >= end) return false
    await sleep(LOOK_EVERY_MS)
  }
  return true
}
