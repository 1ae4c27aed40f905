import pg from 'pg'

/**
 * The tables of the job queue, in a schema of their own that the library graphile-worker makes and keeps. They hold what
 * is under way and nothing that lasts: a backup leaves them out, and a restore begins with an empty queue.
 */
export const jobSchema = 'graphile_worker'

/** The newest revision of that schema which the installed library knows. A test compares the two. */
export const jobSchemaRevision = 20

const insufficientPrivilege = '42501'

/** Only a schema that lacks something needs it. */
const loadLibrary = () => import('graphile-worker')

/** What runs one statement, by text or as a prepared query. */
type RunStatement = (text: unknown, values?: unknown[]) => Promise<unknown>

/** Which revision a database has; 0 when it has none. */
export async function jobQueueRevision(client: pg.ClientBase): Promise<number> {
  const { rows: found } = await client.query(
    `select to_regclass('${jobSchema}.migrations') is not null as there`,
  )
  if (!found[0].there) return 0
  const { rows } = await client.query(`select coalesce(max(id), 0) as revision from ${jobSchema}.migrations`)
  return rows[0].revision
}

/**
 * Brings the queue to the newest revision, each step in a transaction of its own. Somebody else may do so at the same time.
 * @throws with the SQL for an operator to run, where the user may not make a schema.
 */
export async function installJobQueue(client: pg.ClientBase): Promise<void> {
  await install(client, (text, values) => client.query(text as string, values))
}

/** As `installJobQueue`, inside a transaction that the caller has opened and commits. */
export async function installJobQueueWithin(client: pg.ClientBase): Promise<void> {
  await install(client, nested(client))
}

/** Ends all mail that waits, since what it was to tell of is replaced. What is being sent is left to who sends it. */
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
  // As much of a pool as the library asks for: it would open one of its own otherwise.
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
    'The database user may not make the schema in which mail waits. Let an operator run once:\n\n' +
      `grant create on database ${pg.escapeIdentifier(database)} to ${pg.escapeIdentifier(name)};\n`,
    { cause },
  )
}

/**
 * Statements of a transaction of one's own, inside of another one: BEGIN, COMMIT and ROLLBACK become a savepoint, and a
 * statement outside of these stands or falls alone, as it would without a transaction around it.
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
