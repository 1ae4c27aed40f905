import { EventEmitter } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import type { LogFunctionFactory, Runner, WorkerEvents } from 'graphile-worker'
import pg from 'pg'
import { type Connection, clientConfig, prepareClient } from '../db/connection.ts'
import { admitTo } from '../db/failover/timeline.ts'
import { jobSchema } from '../jobs/job-queue.ts'
import type { Logger } from '../observe/log.ts'
import type { Job } from './deliver.ts'

/** The name under which `queue_mail` queues. */
const taskName = 'keyrail_mail'
const concurrency = 2
/** One listens. What is sent to a mailbox holds none, so that the other is enough for all letters. */
const mailConnections = 2
/** NOTIFY announces a new job; polling finds one whose next attempt is due. */
const lookMs = 5_000
/** The pause after the worker itself has failed, for example while the database is away. */
const reopenMs = 2_000
/**
 * How long mail being sent has to end when the service closes. Then it is interrupted, and the next worker tries
 * it again.
 */
export const graceMs = 5_000
/** After this time the close no longer waits for the database; `freeStuckMail` finds what was being sent. */
const closeMs = 8_000

export type RunJob = (job: Job, closing: AbortSignal) => Promise<void>

/**
 * Sends mail from the queue while the service runs, and reconnects after the database was away.
 * @param connection past any pooler: it listens.
 * @returns a function that stops it, and waits for mail being sent, within a bound.
 */
export function startWorker(connection: Connection, runJob: RunJob, log: Logger): () => Promise<void> {
  const closing = new AbortController()
  const pool = openPool(connection)
  const running = keepRunning(pool, runJob, log, closing.signal)
  return async () => {
    closing.abort()
    await Promise.race([running, sleep(closeMs, undefined, { ref: false })])
    await Promise.race([pool.end(), sleep(closeMs, undefined, { ref: false })])
  }
}

/**
 * Without error listeners a lost connection would end the process. A letter goes out once the standby has its job as taken, and
 * so the change that queued it: `prepareClient` refuses a commit whose wait for the standby was cancelled.
 */
function openPool(connection: Connection): pg.Pool {
  const pool = new pg.Pool({
    ...clientConfig(connection, 'mail'),
    // The library expects numbers as the driver returns them.
    types: pg.types,
    pipeline: false,
    onConnect: admitTo(connection),
    max: mailConnections,
  } as pg.PoolConfig)
  pool.on('error', () => {})
  pool.on('connect', prepareClient)
  return pool
}

async function keepRunning(pool: pg.Pool, runJob: RunJob, log: Logger, closing: AbortSignal): Promise<void> {
  while (!closing.aborted) {
    const problem = await openRunner(pool, runJob, log)
      .then(opened => untilEnded(opened, closing))
      .then(() => null)
      .catch(error => error)
    if (closing.aborted) return
    log.warn({ ...(problem !== null && { err: problem }) }, 'mail is not being sent')
    await sleep(reopenMs, undefined, { signal: closing, ref: false }).catch(() => {})
  }
}

interface Opened {
  readonly runner: Runner
  /** The error of the first look for mail that failed. */
  readonly failed: Promise<unknown>
}

async function openRunner(pool: pg.Pool, runJob: RunJob, log: Logger): Promise<Opened> {
  const { Logger: LibraryLogger, run } = await import('graphile-worker')
  const events: WorkerEvents = new EventEmitter()
  const { promise: failed, resolve: fail } = Promise.withResolvers<unknown>()
  events.once('worker:getJob:error', ({ error }) => fail(error))
  const tasks = {
    [taskName]: async (payload: unknown, { job, abortSignal }: TaskHelpers) => {
      const { kind, ids } = payload as Pick<Job, 'kind' | 'ids'>
      const { attempts: attempt, max_attempts: attemptsMax } = job
      await runJob({ kind, ids, attempt, attemptsMax }, abortSignal ?? new AbortController().signal)
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

/** The part of a task's helpers that is used here. */
interface TaskHelpers {
  readonly job: { readonly attempts: number; readonly max_attempts: number }
  readonly abortSignal?: AbortSignal
}

/**
 * The library remembers the outcome of its very first look, and if that failed, for example because the database was away, each
 * later one fails in the same way: only another runner looks again.
 * @throws what failed
 */
async function untilEnded({ runner, failed }: Opened, closing: AbortSignal): Promise<void> {
  const stop = () => void runner.stop('closing').catch(() => {})
  if (closing.aborted) stop()
  else closing.addEventListener('abort', stop, { once: true })
  try {
    const problem = await Promise.race([runner.promise, failed])
    if (problem === undefined) return
    stop()
    // Without a database it might not end.
    await Promise.race([runner.promise, sleep(closeMs, undefined, { ref: false })])
    throw problem
  } finally {
    closing.removeEventListener('abort', stop)
  }
}

/** Logs the library's own errors. The code that runs a job logs its outcome, and its contents are never logged. */
const toLog =
  (log: Logger): LogFunctionFactory =>
  () =>
  (level, message, meta) => {
    if (meta?.failure === true) return
    if (level === 'error' || level === 'warning') log.warn({ library: 'graphile-worker' }, message)
  }
