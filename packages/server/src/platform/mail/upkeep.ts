import type pg from 'pg'
import { type Chore, untilNone } from '../db/upkeep.ts'
import { freeStuckJobs, pruneFailedJobs, readQueue } from '../jobs/upkeep.ts'
import { mailTask } from './queue.ts'
import { senderRefused } from './transport.ts'

const rowsAtOnce = 1_000

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

/** Mail that failed its last attempt, kept for a while for the operator. */
export const pruneFailedMail = pruneFailedJobs(mailTask, 'given-up mail')

/** Puts mail of a killed process back into the queue. It may have been sent already: mail is sent at least once. */
export const freeStuckMail = freeStuckJobs(mailTask, 'mail of a killed process')

/** The number of kept messages that failed their last attempt. */
export const countGivenUpMail = async (client: pg.ClientBase): Promise<number> =>
  (await readQueue(client, mailTask)).given_up

/** The number of messages in the queue, given up or not, whose last attempt failed because the mail server refuses the sender. */
export async function countSenderRefused(client: pg.ClientBase): Promise<number> {
  const { rows } = await client.query(
    `select count(*)::int as count from graphile_worker.jobs
     where task_identifier = $2 and starts_with(last_error, $1)`,
    [senderRefused, mailTask],
  )
  return rows[0].count
}
