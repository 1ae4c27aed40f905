import type pg from 'pg'
import type { Config } from '../config.ts'
import { jobQueueRevision, jobSchemaRevision } from '../platform/db/job-queue.ts'
import { openTransport } from '../platform/mail/mail.ts'
import { countGivenUpMail } from '../platform/mail/upkeep.ts'
import type { Check } from './doctor-check.ts'
import { explain } from './failure.ts'

const name = 'mail'
const todo =
  'Set SERVICE_MAIL_URL to a mail server that takes mail from here, or to a folder that we may write in.'

/** Where mail goes, and whether it would get there. Nothing is sent. */
export async function checkMail({ mail: { route } }: Pick<Config, 'mail'>): Promise<Check> {
  const place = route.kind === 'folder' ? route.path : `${route.host}:${route.port}`
  try {
    await (await openTransport(route)).verify()
  } catch (error) {
    return { name, status: 'fault', message: `${place} cannot be used: ${explain(error)}`, todo }
  }
  if (route.kind === 'smtp') return { name, status: 'ok', message: `sent through ${place}` }
  return { name, status: 'ok', message: `written into ${place}, and sent nowhere` }
}

/** The queue is there, and nothing in it was given up. */
export async function checkMailQueue(client: pg.ClientBase): Promise<Check> {
  const queue = 'mail queue'
  const revision = await jobQueueRevision(client)
  if (revision < jobSchemaRevision) {
    const message = revision === 0 ? 'is missing' : `is at revision ${revision} of ${jobSchemaRevision}`
    return { name: queue, status: 'fault', message, todo: 'keyrail migrate' }
  }
  const count = await countGivenUpMail(client)
  if (count === 0) return { name: queue, status: 'ok', message: 'nothing was given up' }
  return {
    name: queue,
    status: 'warning',
    message: `messages that were given up in the last week: ${count}`,
    todo: 'Look for "mail given up" in the log: it tells what the mail server answered.',
  }
}
