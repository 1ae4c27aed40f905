/**
 * Jobs: queued in the transaction of a change, done after its commit, at least once, with longer and longer pauses between
 * attempts. Here are the tables of the queue, of the library graphile-worker. `worker.ts` does the jobs of a task, `upkeep.ts`
 * frees those of a killed process and removes those that were given up. Fair turns are the business of who queues
 * (`queue_in_turn` of mail): a job that is not due is not taken. To add a task: a function of the schema that queues, a
 * `Task`, its chores.
 */

import pg from 'pg'

/**
 * The tables of the job queue, in a separate schema that the library graphile-worker makes and updates. The tables only hold
 * temporary jobs: a backup leaves them out, and a restore begins with an empty queue.
 */
export const jobSchema = 'graphile_worker'

/** The newest revision of the schema in the installed library. A test compares the two. */
export const jobSchemaRevision = 20

const insufficientPrivilege = '42501'

/** The library is loaded only for a schema that lacks something. */
const loadLibrary = () => import('graphile-worker')

/** Runs one statement, as text or as a prepared query. */
type RunStatement = (text: unknown, values?: unknown[]) => Promise<unknown>

/** The revision of a database's queue; 0 if it has none. */
export async function jobQueueRevision(client: pg.ClientBase): Promise<number> {
  const { rows: found } = await client.query(
    `select to_regclass('${jobSchema}.migrations') is not null as there`,
  )
  if (!found[0].there) return 0
  const { rows } = await client.query(`select coalesce(max(id), 0) as revision from ${jobSchema}.migrations`)
  return rows[0].revision
}

/**
 * Updates the queue to the newest revision, each step in a separate transaction. Another process may do so at
 * the same time.
 * @throws with the SQL for an operator to run if the user may not make a schema.
 */
export async function installJobQueue(client: pg.ClientBase): Promise<void> {
  await install(client, (text, values) => client.query(text as string, values))
}

/** As `installJobQueue`, inside a transaction that the caller has opened and commits. */
export async function installJobQueueWithin(client: pg.ClientBase): Promise<void> {
  await install(client, nested(client))
}

/** Removes all waiting jobs, because a restore replaces their data. A job that runs is left to its worker. */
export async function emptyJobQueue(client: pg.ClientBase): Promise<void> {
  if ((await jobQueueRevision(client)) === 0) return
  await client.query(
    `select from ${jobSchema}.complete_jobs(array(
       select id from ${jobSchema}.jobs where task_identifier like 'keyrail\\_%'))`,
  )
}

async function install(client: pg.ClientBase, query: RunStatement): Promise<void> {
  if ((await jobQueueRevision(client)) >= jobSchemaRevision) return
  const { Logger, runMigrations } = await loadLibrary()
  const lent = { query, release() {}, escapeIdentifier: pg.escapeIdentifier }
  // The part of a pool that the library needs; without a pool the library would open one.
  const pool = { connect: async () => lent, listeners: () => [() => {}] }
  try {
    await runMigrations({
      pgPool: pool as unknown as pg.Pool,
      schema: jobSchema,
      logger: new Logger(() => () => {}),
      noHandleSignals: true,
    })
  } catch (error) {
    if ((error as { code?: unknown }).code !== insufficientPrivilege) throw error
    throw await explainRights(client, error)
  }
}

async function explainRights(client: pg.ClientBase, cause: unknown): Promise<Error> {
  const { rows } = await client.query('select current_user as name, current_database() as database')
  const [{ name, database }] = rows
  return new Error(
    'The database user may not create the schema of the mail queue. Have an operator run this once:\n\n' +
      `grant create on database ${pg.escapeIdentifier(database)} to ${pg.escapeIdentifier(name)};\n`,
    { cause },
  )
}

/**
 * Runs the statements of a transaction inside another one: BEGIN, COMMIT and ROLLBACK become a savepoint, and a statement
 * outside them succeeds or fails alone, as it would outside a transaction.
 */
function nested(client: pg.ClientBase): RunStatement {
  let isOpen = false
  const open = () => client.query('savepoint job_queue')
  const keep = () => client.query('release savepoint job_queue')
  const undo = () => client.query('rollback to savepoint job_queue')
  return async (text, values) => {
    if (text === 'begin') {
      isOpen = true
      return await open()
    }
    if (text === 'commit' || text === 'rollback') {
      isOpen = false
      return text === 'commit' ? await keep() : await undo()
    }
    if (isOpen) return await client.query(text as string, values)
    await open()
    try {
      const result = await client.query(text as string, values)
      await keep()
      return result
    } catch (error) {
      await undo()
      throw error
    }
  }
}
