import type pg from 'pg'
import { type Chore, untilNone } from '../db/upkeep.ts'

const rowsAtOnce = 1_000
/** Far longer than an attempt takes: a process that locked a job so long ago was killed. */
const stuckMinutes = 5
/** How long a job is kept after its last attempt, for the operator. */
export const keptDays = 7

/** @param task the name of the task, for all functions here. */
export const pruneFailedJobs = (task: string, name: string): Chore => ({
  name,
  run: client =>
    untilNone(async () => {
      const { rowCount } = await client.query(
        `select from graphile_worker.complete_jobs(array(
           select id from graphile_worker.jobs
           where task_identifier = $2 and attempts >= max_attempts and locked_at is null
             and run_at < now() - make_interval(days => ${keptDays}) limit $1))`,
        [rowsAtOnce, task],
      )
      return rowCount ?? 0
    }),
})

/** Puts jobs of a killed process back into the queue. Such a job may have been done already: each job is done at least once. */
export const freeStuckJobs = (task: string, name: string): Chore => ({
  name,
  async run(client) {
    const { rows } = await client.query(
      `select array_agg(distinct locked_by) as workers, count(*)::int as jobs from graphile_worker.jobs
       where task_identifier = $1 and locked_at < now() - make_interval(mins => ${stuckMinutes})`,
      [task],
    )
    const [{ workers, jobs }] = rows
    if (jobs > 0) await client.query('select graphile_worker.force_unlock_workers($1)', [workers])
    return jobs
  },
})

/** How many jobs wait in the queue of a task, and for how long. */
export interface QueueState {
  readonly waiting: number
  /** Jobs that failed their last attempt. */
  readonly given_up: number
  /** How long the oldest job has waited, in seconds. */
  readonly oldest: number
}

export async function readQueue(client: pg.ClientBase, task: string): Promise<QueueState> {
  const { rows } = await client.query(
    `select count(*) filter (where attempts < max_attempts)::int as waiting,
       count(*) filter (where attempts >= max_attempts and locked_at is null)::int as given_up,
       coalesce(extract(epoch from now() - min(created_at) filter (where attempts < max_attempts)), 0)::float8 as oldest
     from graphile_worker.jobs where task_identifier = $1`,
    [task],
  )
  return rows[0]
}
