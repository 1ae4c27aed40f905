/**
 * Mail. `queue.ts` queues in the transaction of a change (`charge.ts` bounds it), `jobs/` sends what waits:
 * `deliver.ts` writes the `letter.ts` with its `writer-parts.ts`, `message.ts` makes the message (`subject.ts`,
 * `address.ts`), `transport.ts` sends it by `smtp.ts` or into a `folder.ts` (`prune-folder.ts`). `settings.ts` and
 * `route.ts` say where mail goes, `reading.ts` counts what waits, `upkeep.ts` frees what is stuck.
 */

import type { Clock } from '../clock.ts'
import { onceItSucceeds } from '../concurrency/once.ts'
import type { Connection } from '../db/connection.ts'
import { startWorker, type Task } from '../jobs/worker.ts'
import type { Logger } from '../observe/log.ts'
import type { Metrics } from '../observe/metrics.ts'
import { deliver, type Job, type WriteLetter } from './deliver.ts'
import { mailTask } from './queue.ts'
import type { MailRoute } from './route.ts'
import type { MailSettings } from './settings.ts'
import type { Transport } from './transport.ts'

export interface MailParts extends MailSettings {
  /** Past any pooler, because the worker listens. */
  readonly connection: Connection
  /** The writers of letters, by kind. */
  readonly letters: Readonly<Record<string, WriteLetter>>
  readonly clock: Clock
  readonly randomBytes: (size: number) => Buffer
  readonly log: Logger
  readonly metrics: Pick<Metrics, 'mailCounter'>
}

export interface Mail {
  /** Begins to send queued mail. Call it after the service listens, because it loads what sending needs. */
  start(): void
  /** Lets the mail being sent end, within some seconds. */
  close(): Promise<void>
}

export function openMail(parts: MailParts): Mail {
  const { route, connection, letters, log, metrics } = parts
  const count = metrics.mailCounter(Object.keys(letters))
  const transport = onceItSucceeds(() => openTransport(route))
  const task: Task = {
    name: mailTask,
    connectionName: 'mail',
    stalled: 'mail is not being sent',
    async run({ payload, attempt, attemptsMax }, closing) {
      const { kind, ids } = payload as Pick<Job, 'kind' | 'ids'>
      await deliver(
        { ...parts, transport: await transport(), count },
        { kind, ids, attempt, attemptsMax },
        closing,
      )
    },
  }
  let stop: (() => Promise<void>) | null = null
  let closed: Promise<void> | undefined
  return {
    start() {
      if (closed === undefined) stop ??= startWorker(connection, task, log)
    },
    close() {
      closed ??= stop?.() ?? Promise.resolve()
      return closed
    },
  }
}

/** The library takes as long to load as Postgres takes to start, so it is loaded when there is mail to send. */
export async function openTransport(route: MailRoute): Promise<Transport> {
  if (route.kind === 'smtp') {
    const { openSmtp } = await import('./smtp.ts')
    return openSmtp(route)
  }
  const { openMailFolder } = await import('./folder.ts')
  return openMailFolder(route.path)
}
