import { readQueue } from '../jobs/upkeep.ts'
import type { Reading } from '../observe/readings.ts'
import { mailTask } from './queue.ts'

/** How many letters wait in the queue of mail, and for how long. */
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
    const { waiting, given_up, oldest } = await readQueue(client, mailTask)
    return {
      keyrail_mail_queue_messages: [
        { labels: { state: 'waiting' }, value: waiting },
        { labels: { state: 'given_up' }, value: given_up },
      ],
      keyrail_mail_queue_oldest_seconds: [{ value: Math.max(oldest, 0) }],
    }
  },
}
