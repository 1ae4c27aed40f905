import { setTimeout as sleep } from 'node:timers/promises'
import { adoptLeftover } from './leftover.ts'
import type { Log } from './log.ts'
import { type Launch, launchPostmaster, stopPostmaster } from './postmaster.ts'
import { readPostmasterFile } from './postmaster-file.ts'
import { isAlive, type Running } from './processes.ts'
import { rotateLog } from './server-log.ts'

/** How soon a dead postmaster is noticed. An adopted one is not our child, so nothing tells us. */
const LOOK_EVERY_MS = 100
/** Long enough for us to be told to stop as well, and to answer what is under way. */
const STOPPING_PATIENCE_MS = 1_500
const RETRY_FIRST_MS = 100
const RETRY_MAX_MS = 5_000
const ROTATE_EVERY_MS = 60_000

/** A postmaster that is brought back whenever it ends without having been told to. */
export type Supervised = { readonly pid: number; stop(): Promise<void> }

/**
 * Starts the postmaster, or keeps the one that runs, and brings it back when it dies, at once and then after
 * growing waits, until it is stopped.
 *
 * @throws Error with what Postgres logged, when the first start fails
 */
export async function supervise(launch: Launch, log: Log): Promise<Supervised> {
  const stopping = new AbortController()
  const { signal } = stopping
  let stoppingSince: number | undefined
  let current = await bringUp()

  async function bringUp(): Promise<Running> {
    rotateLog(launch.logFile)
    const kept = await adoptLeftover(launch, signal)
    if (kept) {
      log.info({ pid: kept.pid }, 'Postgres was still running and is kept')
      return kept
    }
    return launchPostmaster(launch, signal)
  }

  async function bringBack(): Promise<void> {
    log.warn({ pid: current.pid }, 'Postgres ended by itself; it is started again')
    for (let wait = RETRY_FIRST_MS; !signal.aborted; wait = Math.min(wait * 2, RETRY_MAX_MS)) {
      try {
        current = await bringUp()
        log.info({ pid: current.pid }, 'Postgres is back')
        return
      } catch (error) {
        if (signal.aborted) return
        log.warn({ err: error, retry_in_ms: wait }, 'Postgres could not be started again')
        await pause(wait)
      }
    }
  }

  /**
   * Somebody told it to stop, as a service manager does that signals every process of a service. It then waits
   * for its clients, our pools, to leave, and lets none in: left alone it would never get out of that.
   */
  function hangsWhileStopping(): boolean {
    const isStopping = readPostmasterFile(launch.dataDirectory)?.status === 'stopping'
    stoppingSince = isStopping ? (stoppingSince ?? performance.now()) : undefined
    return stoppingSince !== undefined && performance.now() - stoppingSince > STOPPING_PATIENCE_MS
  }

  async function watch(): Promise<void> {
    while (!signal.aborted) {
      if (hangsWhileStopping()) await stopPostmaster(launch.dataDirectory, current)
      if (!isAlive(current)) await bringBack()
      await pause(LOOK_EVERY_MS)
    }
  }

  /** Neither keeps the process alive nor outlasts the stop. */
  async function pause(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal, ref: false }).catch(() => undefined)
  }

  const rotation = setInterval(() => rotateLog(launch.logFile), ROTATE_EVERY_MS).unref()
  const watched = watch()
  let stopped: Promise<void> | undefined

  async function stop(): Promise<void> {
    stopping.abort()
    clearInterval(rotation)
    await watched
    await stopPostmaster(launch.dataDirectory, current)
  }

  return {
    get pid() {
      return current.pid
    },
    stop: () => {
      stopped ??= stop()
      return stopped
    },
  }
}
