import { setTimeout as sleep } from 'node:timers/promises'
import type { LogFunctionFactory, Runner } from 'graphile-worker'
import pg from 'pg'
import { type Connection, clientConfig } from '../db/connection.ts'
import { jobSchema } from '../db/job-queue.ts'
import { admit } from '../db/timeline.ts'
import type { Logger } from '../log.ts'
import type { Job } from './deliver.ts'

/** The name under which `queue_mail` queues. */
const taskName = 'keyrail_mail'
const concurrency = 2
/** A new job is told of by NOTIFY; one that waits for its next attempt is found by looking. */
const lookMs = 5_000
/** After the worker itself has failed, as while the store is away. */
const reopenMs = 2_000
/** What is being sent when the service closes has so long to end, and is then broken off and tried again by the next. */
export const graceMs = 5_000
/** Beyond it nobody waits for the store any more; what was under way is found by `freeStuckMail`. */
const closeMs = 8_000

export type RunJob = (job: Job, closing: AbortSignal) => Promise<void>

/**
 * Takes mail from the queue as long as the service runs, and comes back when the store was away.
 * @param connection past any pooler: it listens.
 * @returns a function that ends it, and waits for what is being sent, within a bound.
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

/** Without listeners for errors a lost connection would end the process. */
function openPool(connection: Connection): pg.Pool {
  const pool = new pg.Pool({
    ...clientConfig(connection, 'mail'),
    // The library reads its numbers as the driver gives them.
    types: pg.types,
    pipeline: false,
    onConnect: admit,
    // One of them listens.
    max: concurrency + 2,
  } as pg.PoolConfig)
  pool.on('error', () => {})
  pool.on('connect', client => client.on('error', () => {}))
  return pool
}

async function keepRunning(pool: pg.Pool, runJob: RunJob, log: Logger, closing: AbortSignal): Promise<void> {
  while (!closing.aborted) {
    const problem = await openRunner(pool, runJob, log)
      .then(runner => untilEnded(runner, closing))
      .then(() => null)
      .catch(error => error)
    if (closing.aborted) return
    log.warn({ ...(problem !== null && { err: problem }) }, 'mail is not being sent')
    await sleep(reopenMs, undefined, { signal: closing, ref: false }).catch(() => {})
  }
}

async function openRunner(pool: pg.Pool, runJob: RunJob, log: Logger): Promise<Runner> {
  const { Logger: LibraryLogger, run } = await import('graphile-worker')
  const tasks = {
    [taskName]: async (payload: unknown, { job, abortSignal }: TaskHelpers) => {
      const { kind, ids } = payload as Pick<Job, 'kind' | 'ids'>
      const { attempts: attempt, max_attempts: attemptsMax } = job
      await runJob({ kind, ids, attempt, attemptsMax }, abortSignal ?? new AbortController().signal)
    },
  }
  return await run(
    {
      pgPool: pool,
      schema: jobSchema,
      concurrency,
      pollInterval: lookMs,
      gracefulShutdownAbortTimeout: graceMs,
      // The service hears signals by itself.
      noHandleSignals: true,
      // Otherwise nobody hears of a job that could not be noted as done, and the rejection would end the process.
      preset: { worker: { completeJobBatchDelay: 0, failJobBatchDelay: 0 } },
      logger: new LibraryLogger(toLog(log)),
    },
    tasks,
    [],
  )
}

/** What a task is told, as far as it is used here. */
interface TaskHelpers {
  readonly job: { readonly attempts: number; readonly max_attempts: number }
  readonly abortSignal?: AbortSignal
}

async function untilEnded(runner: Runner, closing: AbortSignal): Promise<void> {
  const stop = () => void runner.stop('closing').catch(() => {})
  if (closing.aborted) stop()
  else closing.addEventListener('abort', stop, { once: true })
  try {
    await runner.promise
  } finally {
    closing.removeEventListener('abort', stop)
  }
}

/** The library's own troubles. What a job came to is told by who ran it, and what a job holds is told nowhere. */
const toLog =
  (log: Logger): LogFunctionFactory =>
  () =>
  (level, message, meta) => {
    if (meta?.failure === true) return
    if (level === 'error' || level === 'warning') log.warn({ library: 'graphile-worker' }, message)
  }
