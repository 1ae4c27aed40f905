import { setTimeout as sleep } from 'node:timers/promises'
import { adoptLeftover } from './leftover.ts'
import type { Log } from './log.ts'
import { type Launch, launchPostmaster, stopPostmaster } from './postmaster.ts'
import { readPostmasterFile } from './postmaster-file.ts'
import { isAlive, type Running } from './processes.ts'
import { rotateLog } from './server-log.ts'

/** How often to check that the postmaster lives. An adopted one is not a child, so no event reports its end. */
const LOOK_EVERY_MS = 100
/** Long enough for this process to receive the stop too, and to answer running requests. */
const STOPPING_PATIENCE_MS = 1_500
const RETRY_FIRST_MS = 100
const RETRY_MAX_MS = 5_000
const ROTATE_EVERY_MS = 60_000

/** A postmaster that is restarted whenever it ends unexpectedly. */
export type Supervised = { readonly pid: number; stop(): Promise<void> }

/**
 * Starts the postmaster, or keeps the running one, and restarts it when it dies, at once and then after growing
 * waits, until it is stopped.
 *
 * @throws Error with Postgres's log if the first start fails
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
      log.info({ pid: kept.pid }, 'Postgres is still running; using it')
      return kept
    }
    return launchPostmaster(launch, signal)
  }

  async function bringBack(): Promise<void> {
    log.warn({ pid: current.pid }, 'Postgres ended unexpectedly; restarting it')
    for (let wait = RETRY_FIRST_MS; !signal.aborted; wait = Math.min(wait * 2, RETRY_MAX_MS)) {
      try {
        current = await bringUp()
        log.info({ pid: current.pid }, 'Postgres is back')
        return
      } catch (error) {
        if (signal.aborted) return
        log.warn({ err: error, retry_in_ms: wait }, 'Postgres could not be restarted')
        await pause(wait)
      }
    }
  }

  /**
   * Another process stopped the postmaster, for example a service manager that signals every process. It then waits for its
   * clients, which are our pools, and accepts no new ones: by itself it would never end.
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

  /** The timer neither keeps the process alive nor outlasts the stop. */
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
