import { EventEmitter } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import type { LogFunctionFactory, Runner, WorkerEvents } from 'graphile-worker'
import pg from 'pg'
import { type Connection, clientConfig, prepareClient } from '../db/connection.ts'
import { admitTo } from '../db/failover/timeline.ts'
import type { Logger } from '../observe/log.ts'
import { jobSchema } from './job-queue.ts'

/** Jobs of a task at once, in one process. */
const concurrency = 2
/**
 * One connection listens. A running job holds no connection, so that the other one is enough to take jobs and to record
 * outcomes.
 */
const connections = 2
/** NOTIFY announces a new job; polling finds a job whose next attempt is due. */
const lookMs = 5_000
/** The pause after the worker itself has failed, for example while the database is away. */
const reopenMs = 2_000
/** How long a running job has to end when the service closes. Then the job is interrupted, and the next worker tries it again. */
export const graceMs = 5_000
/** After this time the close no longer waits for the database; `freeStuckJobs` finds the jobs that were running. */
const closeMs = 8_000

/** One attempt at a job. */
export interface Attempt {
  /** The JSON that the transaction queued. */
  readonly payload: unknown
  /** The number of the attempt, from 1. */
  readonly attempt: number
  readonly attemptsMax: number
}

/** How the jobs of one name are done, at least once each. Every task has its own worker, so that no task waits for another. */
export interface Task {
  /** The `identifier` under which transactions queue. */
  readonly name: string
  /** The name of its connections. */
  readonly connectionName: string
  /** What the log says while jobs cannot be done. */
  readonly stalled: string
  /** @throws to make the worker try again, after longer and longer pauses; the message is stored with the job. */
  run(attempt: Attempt, closing: AbortSignal): Promise<void>
}

/**
 * Does the jobs of a task while the service runs, and reconnects after the database was away.
 * @param connection past any pooler, because the worker listens.
 * @returns a function that stops the worker, and waits for running jobs, for a limited time.
 */
export function startWorker(connection: Connection, task: Task, log: Logger): () => Promise<void> {
  const closing = new AbortController()
  const pool = openPool(connection, task.connectionName)
  const running = keepRunning(pool, task, log, closing.signal)
  return async () => {
    closing.abort()
    await Promise.race([running, sleep(closeMs, undefined, { ref: false })])
    await Promise.race([pool.end(), sleep(closeMs, undefined, { ref: false })])
  }
}

/**
 * Without error listeners a lost connection would end the process. A job runs only once the standby has the row that marks it
 * as taken, and so also the change that queued the job: `prepareClient` refuses a commit whose wait for the standby was
 * cancelled.
 */
function openPool(connection: Connection, name: string): pg.Pool {
  const pool = new pg.Pool({
    ...clientConfig(connection, name),
    // The library expects numbers as the driver returns them.
    types: pg.types,
    pipeline: false,
    onConnect: admitTo(connection),
    max: connections,
  } as pg.PoolConfig)
  pool.on('error', () => {})
  pool.on('connect', prepareClient)
  return pool
}

async function keepRunning(pool: pg.Pool, task: Task, log: Logger, closing: AbortSignal): Promise<void> {
  while (!closing.aborted) {
    const problem = await openRunner(pool, task, log)
      .then(opened => untilEnded(opened, closing))
      .then(() => null)
      .catch(error => error)
    if (closing.aborted) return
    log.warn({ ...(problem !== null && { err: problem }) }, task.stalled)
    await sleep(reopenMs, undefined, { signal: closing, ref: false }).catch(() => {})
  }
}

interface Opened {
  readonly runner: Runner
  /** The error of the first look for jobs, if the look failed. */
  readonly failed: Promise<unknown>
}

async function openRunner(pool: pg.Pool, task: Task, log: Logger): Promise<Opened> {
  const { Logger: LibraryLogger, run } = await import('graphile-worker')
  const events: WorkerEvents = new EventEmitter()
  const { promise: failed, resolve: fail } = Promise.withResolvers<unknown>()
  events.once('worker:getJob:error', ({ error }) => fail(error))
  const tasks = {
    [task.name]: async (payload: unknown, { job, abortSignal }: TaskHelpers) => {
      const { attempts: attempt, max_attempts: attemptsMax } = job
      await task.run({ payload, attempt, attemptsMax }, abortSignal ?? new AbortController().signal)
    },
  }
  const runner = await run(
    {
      pgPool: pool,
      events,
      schema: jobSchema,
      concurrency,
      pollInterval: lookMs,
      gracefulShutdownAbortTimeout: graceMs,
      // The service handles signals itself.
      noHandleSignals: true,
      // Otherwise a job whose result cannot be recorded would end the process with an unhandled rejection.
      preset: { worker: { completeJobBatchDelay: 0, failJobBatchDelay: 0 } },
      logger: new LibraryLogger(toLog(log)),
    },
    tasks,
    [],
  )
  return { runner, failed }
}

/** The part of the library's helpers that is used here. */
interface TaskHelpers {
  readonly job: { readonly attempts: number; readonly max_attempts: number }
  readonly abortSignal?: AbortSignal
}

/**
 * The library remembers the outcome of its very first look for jobs. If that look failed, for example because the database was
 * away, each later look fails in the same way, and only another runner helps.
 * @throws the error of the first look
 */
async function untilEnded({ runner, failed }: Opened, closing: AbortSignal): Promise<void> {
  const stop = () => void runner.stop('closing').catch(() => {})
  if (closing.aborted) stop()
  else closing.addEventListener('abort', stop, { once: true })
  try {
    const problem = await Promise.race([runner.promise, failed])
    if (problem === undefined) return
    stop()
    // Without a database the runner might not end.
    await Promise.race([runner.promise, sleep(closeMs, undefined, { ref: false })])
    throw problem
  } finally {
    closing.removeEventListener('abort', stop)
  }
}

/** Logs the library's own errors. The code that runs a job logs the job's outcome; the job's contents are never logged. */
const toLog =
  (log: Logger): LogFunctionFactory =>
  () =>
  (level, message, meta) => {
    if (meta?.failure === true) return
    if (level === 'error' || level === 'warning') log.warn({ library: 'graphile-worker' }, message)
  }
