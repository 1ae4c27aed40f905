import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { address, jobCount, setStage, writeLetter } from '../../../test/mail-stage.ts'
import { startMailServer } from '../../../test/smtp-server.ts'
import { until } from '../../../test/until.ts'
import { freeStuckMail } from './upkeep.ts'

const stage = await setStage()
const { query, queue, hasten, untilAnswer, logged } = stage
const nothingLeft = () => untilAnswer(jobCount, 0)
const lines = (about: string) => logged.map(line => JSON.parse(line)).filter(({ msg }) => msg === about)

test('two senders share the work, and nothing is sent twice', async () => {
  const server = await startMailServer()
  const url = `smtp://127.0.0.1:${server.port}`
  const to = new Map<string, number>()
  const numbered = async ({ user_id = '' }: Readonly<Record<string, string>>) => ({
    to: `${user_id}@example.com`,
    subject: 'One',
    paragraphs: ['Hello.'],
  })
  const both = [stage.open(url, { numbered }), stage.open(url, { numbered })]
  await Promise.all(Array.from({ length: 60 }, () => queue({ kind: 'numbered' })))
  await nothingLeft()
  for (const {
    to: [one = ''],
  } of server.received)
    to.set(one, (to.get(one) ?? 0) + 1)
  assert.deepEqual([to.size, server.received.length], [60, 60])
  const sent = await Promise.all(
    both.map(async ({ counted }) => Number((await counted())[0]?.split(' ').at(-1) ?? 0)),
  )
  assert.equal(
    sent.reduce((sum, one) => sum + one, 0),
    60,
  )
  await Promise.all(both.map(({ mail }) => mail.close()))
})

test('mail of a process that is killed before it records the sending is sent again', async () => {
  const taken = Promise.withResolvers<void>()
  const answers: { beforeReply?: () => Promise<void> } = {}
  const server = await startMailServer({}, answers)
  const url = `smtp://127.0.0.1:${server.port}`
  answers.beforeReply = () => {
    taken.resolve()
    return new Promise(() => {})
  }
  const script = fileURLToPath(new URL('../../../test/mailer.ts', import.meta.url))
  const child = spawn(process.execPath, [script, JSON.stringify(stage.connection), url, address], {
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  await queue()
  await taken.promise
  const ended = once(child, 'exit')
  child.kill('SIGKILL')
  await ended
  delete answers.beforeReply
  const client = new pg.Client(stage.connection)
  await client.connect()
  assert.equal(await freeStuckMail.run(client), 0, 'the process might still be sending it')
  await query(`update graphile_worker._private_jobs set locked_at = locked_at - interval '6 minutes'`)
  const { mail } = stage.open(url)
  assert.equal(await freeStuckMail.run(client), 1)
  await hasten()
  await server.untilReceived(2)
  await nothingLeft()
  await client.end()
  await mail.close()
  assert.equal(server.received.length, 2)
})

test('a sender whose first look for mail failed sends it once the database is well', async () => {
  const server = await startMailServer()
  await query('alter table graphile_worker._private_tasks rename to hidden')
  const { mail } = stage.open(`smtp://127.0.0.1:${server.port}`)
  try {
    await until(() => lines('mail is not being sent').some(({ err }) => /_private_tasks/.test(err?.message)))
  } finally {
    await query('alter table graphile_worker.hidden rename to _private_tasks')
  }
  await queue()
  await server.untilReceived(1)
  await nothingLeft()
  await mail.close()
})

test('a sender reconnects when its connections were cut', async () => {
  const server = await startMailServer()
  const { mail } = stage.open(`smtp://127.0.0.1:${server.port}`)
  await queue()
  await nothingLeft()
  await query(
    `select pg_terminate_backend(pid) from pg_stat_activity
     where datname = current_database() and application_name = 'keyrail mail'`,
  )
  await queue()
  await nothingLeft()
  assert.equal(server.received.length, 2)
  await mail.close()
})

test('mail whose sending could not be recorded is sent again, by a sender that goes on', async () => {
  const server = await startMailServer()
  await query(
    `create function refuse() returns trigger language plpgsql as $$ begin raise 'refused'; end $$;
     create trigger refuse before delete or update of last_error on graphile_worker._private_jobs
       for each row execute function refuse()`,
  )
  let isBroken = false
  const letters = {
    reset: writeLetter,
    broken: async (ids: Readonly<Record<string, string>>) => {
      if (!isBroken) return await writeLetter(ids)
      isBroken = false
      throw new Error('for once')
    },
  }
  const { mail } = stage.open(`smtp://127.0.0.1:${server.port}`, letters)
  const client = new pg.Client(stage.connection)
  await client.connect()
  for (const kind of ['reset', 'broken']) {
    isBroken = kind === 'broken'
    const before = lines('mail is not being sent').length
    await query('alter table graphile_worker._private_jobs enable trigger refuse')
    await queue({ kind })
    await until(() => lines('mail is not being sent').length > before)
    await query('alter table graphile_worker._private_jobs disable trigger refuse')
    await query(`update graphile_worker._private_jobs set locked_at = locked_at - interval '6 minutes'`)
    assert.equal(await freeStuckMail.run(client), 1)
    await nothingLeft()
  }
  assert.equal(server.received.length, 3)
  await query('drop function refuse() cascade')
  await client.end()
  await mail.close()
})

test('closing lets the current letter arrive, and leaves the others in the queue', async () => {
  const answers: { beforeReply?: () => Promise<void> } = {}
  const server = await startMailServer({}, answers)
  const { mail } = stage.open(`smtp://127.0.0.1:${server.port}`)
  const held = Promise.withResolvers<void>()
  answers.beforeReply = () => held.promise
  for (let i = 0; i < 5; i++) await queue()
  await server.untilReceived(2)
  const closed = mail.close()
  held.resolve()
  await closed
  assert.deepEqual([server.received.length, (await query(jobCount))[0].answer], [2, 3])
  const next = stage.open(`smtp://127.0.0.1:${server.port}`)
  await nothingLeft()
  assert.equal(server.received.length, 5)
  await next.mail.close()
})
