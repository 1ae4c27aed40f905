import type pg from 'pg'
import type { Config } from '../../config.ts'
import { jobQueueRevision, jobSchemaRevision } from '../../platform/jobs/job-queue.ts'
import { openTransport } from '../../platform/mail/mail.ts'
import { countGivenUpMail, countSenderRefused } from '../../platform/mail/upkeep.ts'
import { explain } from '../failure.ts'
import type { Check } from './check.ts'

const name = 'mail'
const todo =
  'Set SERVICE_MAIL_URL to a mail server that accepts mail from here, or to a folder that Keyrail can write in.'

const sendTodo = 'Set SERVICE_MAIL_URL to a mail server, or no person receives a link.'

/** Checks where mail goes and whether it would arrive. Sends nothing. */
export async function checkMail({
  mail: { route },
  databaseUrl,
}: Pick<Config, 'mail' | 'databaseUrl'>): Promise<Check> {
  const place = route.kind === 'folder' ? route.path : `${route.host}:${route.port}`
  try {
    await (await openTransport(route)).verify()
  } catch (error) {
    return { name, status: 'fault', message: `${place} cannot be used: ${explain(error)}`, todo }
  }
  if (route.kind === 'smtp') return { name, status: 'ok', message: `sent through ${place}` }
  const message = `written into ${place}, and not sent`
  if (databaseUrl === null) return { name, status: 'ok', message }
  // Each process has a folder; one database suggests that people wait for the mail.
  return {
    name,
    status: 'warning',
    message: `${message}; each machine has a separate folder`,
    todo: sendTodo,
  }
}

/** Checks that the queue exists and that no message was given up. */
export async function checkMailQueue(client: pg.ClientBase): Promise<Check> {
  const queue = 'mail queue'
  const revision = await jobQueueRevision(client)
  if (revision < jobSchemaRevision) {
    const message = revision === 0 ? 'is missing' : `is at revision ${revision} of ${jobSchemaRevision}`
    return { name: queue, status: 'fault', message, todo: 'keyrail migrate' }
  }
  const refused = await countSenderRefused(client)
  if (refused > 0)
    return {
      name: queue,
      status: 'fault',
      message: `messages that the mail server did not take because of their sender: ${refused}`,
      todo:
        'Let the mail server accept mail of SERVICE_MAIL_FROM from here, or change SERVICE_MAIL_FROM, the login in SERVICE_MAIL_URL or SERVICE_MAIL_EHLO_NAME. ' +
        'The log has its code, with refused: sender.',
    }
  const count = await countGivenUpMail(client)
  if (count === 0) return { name: queue, status: 'ok', message: 'no message was given up' }
  return {
    name: queue,
    status: 'warning',
    message: `messages that were given up in the last week: ${count}`,
    todo: 'Look for "mail given up" in the log: it has the mail server’s answer.',
  }
}
