import { randomBytes, randomUUID } from 'node:crypto'
import { after } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { makeDatabase, testCluster } from '../../../test/database.ts'
import { systemClock } from '../clock.ts'
import type { Connection } from '../db/connection.ts'
import { type Db, openDb } from '../db/pool.ts'
import { createLog } from '../log.ts'
import { createMetrics } from '../prometheus.ts'
import type { WriteLetter } from './deliver.ts'
import { type Mail, openMail } from './mail.ts'
import { type QueuedMail, queueMail } from './queue.ts'
import { readMailRoute } from './route.ts'

/** What a letter of these tests carries, and nothing else may: a token as rooms draw them. */
export const token = randomBytes(32).toString('base64url')
export const address = 'ann.o-neil@example.com'
export const link = `https://keys.example.com/reset-password#token=${randomUUID()}.${token}`

const workspaceId = '01890000-0000-7000-8000-000000000001'

/** Writes one and the same letter to whoever is asked for. */
export const writeLetter: WriteLetter = async () => ({
  to: address,
  subject: 'Reset your password',
  paragraphs: ['Somebody asked for a new password.'],
  action: { label: 'Choose a new password', url: link },
})

export interface Stage {
  readonly connection: Connection
  readonly db: Db
  /** What was logged, a JSON object a line. */
  readonly logged: string[]
  // biome-ignore lint/suspicious/noExplicitAny: rows of any shape, read by the test that asked for them.
  query(text: string, values?: unknown[]): Promise<any[]>
  /** Queues in a transaction of its own. */
  queue(mail?: Partial<QueuedMail>): Promise<void>
  /** Opens a sender of mail, closed when the test file ends. */
  open(
    url: string,
    letters?: Readonly<Record<string, WriteLetter>>,
  ): { mail: Mail; counted(): Promise<string[]> }
  /** Makes every job's next attempt due, and wakes who sends. */
  hasten(): Promise<void>
  /** Waits until a query has this answer. */
  until(text: string, answer: unknown): Promise<void>
}

/** A fresh database, and those who queue and send on it. */
export async function setStage(): Promise<Stage> {
  const { connection, drop } = await makeDatabase(testCluster())
  const client = new pg.Client(connection)
  client.on('error', () => {})
  await client.connect()
  const db = openDb(connection, 10, { announce() {} }, { deadlockRetried() {} })
  const logged: string[] = []
  const log = createLog('trace', { write: line => void logged.push(line) })
  const opened: Mail[] = []
  after(async () => {
    await Promise.all(opened.map(mail => mail.close()))
    await db.close()
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
    async until(text, answer) {
      while ((await query(text))[0]?.answer !== answer) await sleep(20)
    },
  }
}

export const jobCount = 'select count(*)::int as answer from graphile_worker.jobs'
