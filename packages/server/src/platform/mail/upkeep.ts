import type pg from 'pg'
import { type Chore, untilNone } from '../db/upkeep.ts'

const rowsAtOnce = 1_000
/** Far longer than an attempt takes: who has locked a job so long ago has been killed. */
const stuckMinutes = 5
export const keptDays = 7

/** What an address was sent more than an hour ago. */
export const pruneMailThrottles: Chore = {
  name: 'mail throttles',
  run: client =>
    untilNone(async () => {
      const { rowCount } = await client.query(
        `delete from mail_throttles where (address_hash, kind) in (
           select address_hash, kind from mail_throttles where expires_at <= service_now()
           order by expires_at limit $1 for update skip locked)`,
        [rowsAtOnce],
      )
      return rowCount ?? 0
    }),
}

/** Mail that was tried to the last, kept a while for who looks for it. */
export const pruneFailedMail: Chore = {
  name: 'mail that was given up',
  run: client =>
    untilNone(async () => {
      const { rowCount } = await client.query(
        `select from graphile_worker.complete_jobs(array(
           select id from graphile_worker.jobs
           where task_identifier = 'keyrail_mail' and attempts >= max_attempts and locked_at is null
             and run_at < now() - make_interval(days => ${keptDays}) limit $1))`,
        [rowsAtOnce],
      )
      return rowCount ?? 0
    }),
}

/** Gives mail back to the queue whose sender was killed. It may have been sent already: mail goes at least once. */
export const freeStuckMail: Chore = {
  name: 'mail of a process that was killed',
  async run(client) {
    const { rows } = await client.query(
      `select array_agg(distinct locked_by) as workers, count(*)::int as jobs from graphile_worker.jobs
       where task_identifier = 'keyrail_mail' and locked_at < now() - make_interval(mins => ${stuckMinutes})`,
    )
    const [{ workers, jobs }] = rows
    if (jobs > 0) await client.query('select graphile_worker.force_unlock_workers($1)', [workers])
    return jobs
  },
}

/** How much mail was tried to the last, of what is still kept. */
export async function countGivenUpMail(client: pg.ClientBase): Promise<number> {
  const { rows } = await client.query(
    `select count(*)::int as count from graphile_worker.jobs
     where task_identifier = 'keyrail_mail' and attempts >= max_attempts and locked_at is null`,
  )
  return rows[0].count
}
