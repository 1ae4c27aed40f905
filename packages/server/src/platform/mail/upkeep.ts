import type pg from 'pg'
import { type Chore, untilNone } from '../db/upkeep.ts'
import { senderRefused } from './transport.ts'

const rowsAtOnce = 1_000
/** Far longer than an attempt takes: the process that locked a job this long ago was killed. */
const stuckMinutes = 5
export const keptDays = 7

/** Counts of mail from more than an hour ago. */
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

/** Counts of letters to third parties from more than a day ago. */
export const pruneLetterCounts: Chore = {
  name: 'letter counts',
  run: client =>
    untilNone(async () => {
      const { rowCount } = await client.query(
        `delete from letter_counts where sender_hash in (
           select sender_hash from letter_counts where expires_at <= service_now()
           order by expires_at limit $1 for update skip locked)`,
        [rowsAtOnce],
      )
      return rowCount ?? 0
    }),
}

/** Mail after its last attempt, kept for a while for the operator. */
export const pruneFailedMail: Chore = {
  name: 'given-up mail',
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

/** Puts mail of a killed process back into the queue. It may have been sent already: mail is sent at least once. */
export const freeStuckMail: Chore = {
  name: 'mail of a killed process',
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

/** The number of kept messages that had their last attempt. */
export async function countGivenUpMail(client: pg.ClientBase): Promise<number> {
  const { rows } = await client.query(
    `select count(*)::int as count from graphile_worker.jobs
     where task_identifier = 'keyrail_mail' and attempts >= max_attempts and locked_at is null`,
  )
  return rows[0].count
}

/** The number of messages in the queue, given up or not, whose last attempt ended because the mail server refuses the sender. */
export async function countSenderRefused(client: pg.ClientBase): Promise<number> {
  const { rows } = await client.query(
    `select count(*)::int as count from graphile_worker.jobs
     where task_identifier = 'keyrail_mail' and starts_with(last_error, $1)`,
    [senderRefused],
  )
  return rows[0].count
}
