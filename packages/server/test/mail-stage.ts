import { randomBytes, randomUUID } from 'node:crypto'
import { after } from 'node:test'
import pg from 'pg'
import { systemClock } from '../src/platform/clock.ts'
import type { Connection } from '../src/platform/db/connection.ts'
import { type Db, unbound } from '../src/platform/db/db.ts'
import type { WriteLetter } from '../src/platform/mail/deliver.ts'
import { type Mail, openMail } from '../src/platform/mail/mail.ts'
import { type QueuedMail, queueMail } from '../src/platform/mail/queue.ts'
import { readMailRoute } from '../src/platform/mail/route.ts'
import { createLog } from '../src/platform/observe/log.ts'
import { createMetrics } from '../src/platform/observe/prometheus.ts'
import { makeDatabase, type TestDatabase, testCluster } from './database.ts'
import { openTestPool } from './stores.ts'
import { until } from './until.ts'

/** The token of these tests' letters, drawn as rooms draw them. Nothing else may contain it. */
export const token = randomBytes(32).toString('base64url')
export const address = 'ann.o-neil@example.com'
export const link = `https://keys.example.com/reset-password#token=${randomUUID()}.${token}`

const workspaceId = '01890000-0000-7000-8000-000000000001'

/** Writes the same letter whatever the ids are. */
export const writeLetter: WriteLetter = async () => ({
  to: address,
  subject: 'Reset your password',
  paragraphs: ['Somebody asked for a new password.'],
  action: { label: 'Choose a new password', url: link },
})

export interface Stage {
  readonly connection: Connection
  readonly db: Db
  /** The log so far, one JSON object per line. */
  readonly logged: string[]
  // biome-ignore lint/suspicious/noExplicitAny: rows of any shape, read by the test that asked for them.
  query(text: string, values?: unknown[]): Promise<any[]>
  /** Queues in a separate transaction. */
  queue(mail?: Partial<QueuedMail>): Promise<void>
  /** Opens a mailer, which closes when the test file ends. */
  open(
    url: string,
    letters?: Readonly<Record<string, WriteLetter>>,
  ): { mail: Mail; counted(): Promise<string[]> }
  /** Makes every job's next attempt due, and wakes the mailers. */
  hasten(): Promise<void>
  /** Waits until a query has this answer. */
  untilAnswer(text: string, answer: unknown): Promise<void>
}

/** Opens a fresh database, or takes the given one, with functions that queue and send mail on it. */
export async function setStage(given: TestDatabase | null = null): Promise<Stage> {
  const { connection, drop } = given ?? (await makeDatabase(testCluster()))
  const client = new pg.Client(connection)
  client.on('error', () => {})
  await client.connect()
  const pool = openTestPool(connection, 10)
  const db = pool.bind(unbound)
  const logged: string[] = []
  const log = createLog('trace', { write: line => void logged.push(line) })
  const opened: Mail[] = []
  after(async () => {
    await Promise.all(opened.map(mail => mail.close()))
    await pool.close()
    await client.end()
    await drop()
  })
  const query = async (text: string, values?: unknown[]) => (await client.query(text, values)).rows
  return {
    connection,
    db,
    logged,
    query,
    async queue(mail = {}) {
      const whole = {
        kind: 'reset',
        throttle: randomUUID().replace(/[\d-]/g, ''),
        address,
        ids: { user_id: randomUUID() },
        ...mail,
      }
      await db.inWorkspace(workspaceId, async tx => queueMail(tx, whole))
    },
    open(url, letters = { reset: writeLetter }) {
      const metrics = createMetrics({ version: '0', node: '0' })
      const mail = openMail({
        route: readMailRoute(url),
        from: { name: 'Schlüssel, "Acme" & Söhne', address: 'no-reply@keys.example.com' },
        connection,
        letters,
        clock: systemClock,
        randomBytes,
        log,
        metrics,
      })
      opened.push(mail)
      mail.start()
      return {
        mail,
        async counted() {
          const lines = (await metrics.text()).split('\n')
          return lines.filter(line => line.startsWith('keyrail_mail_total') && !line.endsWith(' 0'))
        },
      }
    },
    async hasten() {
      await query('update graphile_worker._private_jobs set run_at = now() where locked_at is null')
      await query(`select pg_notify('jobs:insert', '{"count":9}')`)
    },
    async untilAnswer(text, answer) {
      await until(async () => (await query(text))[0]?.answer === answer)
    },
  }
}

export const jobCount = 'select count(*)::int as answer from graphile_worker.jobs'
