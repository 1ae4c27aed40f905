import type { Reading } from '../observe/readings.ts'

/** What waits in the queue of mail, and for how long. */
export const mailReading: Reading = {
  figures: [
    {
      name: 'keyrail_mail_queue_messages',
      help: 'Messages that wait to be sent, or were given up.',
      labels: ['state'],
    },
    {
      name: 'keyrail_mail_queue_oldest_seconds',
      help: 'How long the oldest message has waited to be sent; 0 when none waits.',
    },
  ],
  async read(client) {
    const { rows } = await client.query(
      `select count(*) filter (where attempts < max_attempts)::int as waiting,
         count(*) filter (where attempts >= max_attempts and locked_at is null)::int as given_up,
         coalesce(extract(epoch from now() - min(created_at) filter (where attempts < max_attempts)), 0)::float8 as oldest
       from graphile_worker.jobs where task_identifier = 'keyrail_mail'`,
    )
    const [{ waiting, given_up, oldest }] = rows
    return {
      keyrail_mail_queue_messages: [
        { labels: { state: 'waiting' }, value: waiting },
        { labels: { state: 'given_up' }, value: given_up },
      ],
      keyrail_mail_queue_oldest_seconds: [{ value: Math.max(oldest, 0) }],
    }
  },
}
