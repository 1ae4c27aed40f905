import assert from 'node:assert/strict'
import { test } from 'node:test'
import pg from 'pg'
import { address, jobCount, link, setStage, token, writeLetter } from '../../../test/mail-stage.ts'
import { startMailServer } from '../../../test/smtp-server.ts'
import type { Letter } from './letter.ts'
import { pruneFailedMail } from './upkeep.ts'

const stage = await setStage()
const { query, queue, hasten, untilAnswer, logged } = stage
const nothingLeft = () => untilAnswer(jobCount, 0)
/** Waits until a failed attempt has released its job. */
const untilTried = (attempts: number) =>
  untilAnswer(
    `select coalesce(max(attempts), 0) as answer from graphile_worker.jobs where locked_at is null`,
    attempts,
  )
const lines = (about: string) => logged.map(line => JSON.parse(line)).filter(({ msg }) => msg === about)

test('a letter arrives as text and HTML, at one mailbox, with its link unbroken', async () => {
  const server = await startMailServer()
  const { mail, counted } = stage.open(`smtp://127.0.0.1:${server.port}`)
  await queue()
  await server.untilReceived(1)
  await nothingLeft()
  const [{ from, to, source, parsed }] = server.received as [(typeof server.received)[0]]
  assert.deepEqual([from, to], ['no-reply@keys.example.com', [address]])
  assert.deepEqual(parsed.from?.value, [
    { name: 'Schlüssel, "Acme" & Söhne', address: 'no-reply@keys.example.com' },
  ])
  assert.equal(parsed.subject, 'Reset your password')
  assert.ok(parsed.text?.split('\n').includes(link))
  assert.ok(source.split('\r\n').includes(link), 'unbroken in the source too')
  assert.ok(String(parsed.html).includes(`href="${link}"`))
  assert.equal(parsed.headers.get('auto-submitted'), 'auto-generated')
  assert.match(parsed.messageId ?? '', /^<[0-9a-f]{32}@keys\.example\.com>$/)
  assert.ok(parsed.date instanceof Date)
  assert.deepEqual(parsed.attachments, [])
  assert.deepEqual(await counted(), ['keyrail_mail_total{kind="reset",outcome="sent"} 1'])
  await mail.close()
})

test('text that is not ASCII arrives as written, in subject, text and address', async () => {
  const server = await startMailServer()
  const letter: Letter = {
    to: 'änn@exämple.com',
    subject: 'Willkommen bei „Schlüssel & Söhne“ 🔑',
    paragraphs: ['Größe: 5 €. '.repeat(40)],
    action: { label: 'Öffnen', url: link },
  }
  const { mail } = stage.open(`smtp://127.0.0.1:${server.port}`, { reset: async () => letter })
  await queue()
  await server.untilReceived(1)
  await nothingLeft()
  const [{ to, parsed }] = server.received as [(typeof server.received)[0]]
  assert.deepEqual(to, ['änn@exämple.com'])
  assert.equal(parsed.subject, letter.subject)
  assert.ok(parsed.text?.includes('Größe: 5 €. Größe') && parsed.text.split('\n').includes(link))
  assert.ok(String(parsed.html).includes('>Öffnen<'))
  await mail.close()
})

test('nothing in a letter adds a recipient, a header or a part', async () => {
  const server = await startMailServer()
  const nasty =
    'Hello\r\nBcc: eve@example.com\r\nContent-Type: text/html\r\n\r\n<b>\n.\nMAIL FROM:<eve@example.com>'
  const letter = (to: string): Letter => ({ to, subject: nasty, greeting: nasty, paragraphs: [nasty, '.'] })
  const bad = [
    `${address}\r\nRCPT TO:<eve@example.com>`,
    `${address},eve@example.com`,
    `"eve@example.com" <${address}>`,
  ]
  const letters = { good: async () => letter(address) }
  const refused = Object.fromEntries(bad.map((to, i) => [`bad_${'abc'[i]}`, async () => letter(to)]))
  const { mail, counted } = stage.open(`smtp://127.0.0.1:${server.port}`, { ...letters, ...refused })
  for (const kind of [...Object.keys(refused), 'good']) await queue({ kind })
  await nothingLeft()
  assert.deepEqual(
    server.received.map(({ to }) => to),
    [[address]],
  )
  const [{ parsed }] = server.received as [(typeof server.received)[0]]
  assert.deepEqual([parsed.bcc, parsed.cc], [undefined, undefined])
  assert.match(parsed.subject ?? '', /^Hello Bcc: eve@example\.com Content-Type/)
  assert.match(parsed.headers.get('content-type') ? 'yes' : 'no', /yes/)
  assert.ok(parsed.text && parsed.html && !parsed.html.includes('<b>'))
  assert.equal((await counted()).filter(line => line.includes('given_up')).length, bad.length)
  await mail.close()
})

test('a missing recipient is sent nothing, and the job is removed', async () => {
  const server = await startMailServer()
  let asked = 0
  const gone = async () => {
    asked += 1
    return null
  }
  const { mail, counted } = stage.open(`smtp://127.0.0.1:${server.port}`, { gone })
  await queue({ kind: 'gone', ids: { user_id: null } })
  await nothingLeft()
  assert.equal(asked, 0)
  await queue({ kind: 'gone' })
  await nothingLeft()
  assert.deepEqual([asked, server.received, await counted()], [1, [], []])
  await mail.close()
})

test('mail waits for a server that is down, and is delivered once it is up', async () => {
  const server = await startMailServer()
  await server.stop()
  const { mail, counted } = stage.open(`smtp://127.0.0.1:${server.port}`)
  await queue()
  await untilTried(1)
  await hasten()
  await untilTried(2)
  await server.start()
  await hasten()
  await server.untilReceived(1)
  await nothingLeft()
  assert.equal(server.received.length, 1)
  assert.deepEqual(await counted(), [
    'keyrail_mail_total{kind="reset",outcome="sent"} 1',
    'keyrail_mail_total{kind="reset",outcome="failed"} 2',
  ])
  const [failure] = lines('mail not sent').slice(-2)
  assert.deepEqual([failure.level, failure.kind, failure.attempt], ['warn', 'reset', 1])
  assert.match(failure.code, /ESOCKET|ECONNECTION/)
  await mail.close()
})

test('a refusal is tried again, unless the mailbox does not exist', async () => {
  const answers: { mailFrom?: number; recipient?: number; data?: number } = {}
  const server = await startMailServer({}, answers)
  const { mail } = stage.open(`smtp://127.0.0.1:${server.port}`)
  const tries: [keyof typeof answers, number, string][] = [
    ['mailFrom', 451, 'EENVELOPE MAIL FROM 451'],
    ['mailFrom', 550, 'EENVELOPE MAIL FROM 550'],
    ['recipient', 450, 'EENVELOPE RCPT TO 450'],
    ['data', 452, 'EMESSAGE DATA 452'],
    ['data', 554, 'EMESSAGE DATA 554'],
  ]
  await queue()
  for (const [i, [step, code, logged]] of tries.entries()) {
    answers[step] = code
    await hasten()
    await untilTried(i + 1)
    assert.equal(lines('mail not sent').at(-1).code, logged)
    delete answers[step]
  }
  await hasten()
  await server.untilReceived(1)
  await nothingLeft()
  answers.recipient = 550
  await queue()
  await nothingLeft()
  assert.equal(lines('mail given up').at(-1).code, 'EENVELOPE RCPT TO 550')
  assert.equal(server.received.length, 1)
  await mail.close()
})

test('a kind that only a newer release can write, and a fault in writing, are tried again', async () => {
  const server = await startMailServer()
  let isBroken = true
  const broken = async (ids: Readonly<Record<string, string>>) => {
    if (isBroken) throw new Error('the store is away')
    return await writeLetter(ids)
  }
  const older = stage.open(`smtp://127.0.0.1:${server.port}`, { broken })
  await queue({ kind: 'newer' })
  await untilTried(1)
  assert.equal(lines('mail not sent').at(-1).code, 'unknown kind')
  await older.mail.close()
  const newer = stage.open(`smtp://127.0.0.1:${server.port}`, { broken, newer: writeLetter })
  await hasten()
  await nothingLeft()
  await queue({ kind: 'broken' })
  await untilTried(1)
  assert.equal(lines('mail not sent').at(-1).err.message, 'the store is away')
  isBroken = false
  await hasten()
  await nothingLeft()
  assert.equal(server.received.length, 2)
  await newer.mail.close()
})

test('after the last attempt mail is kept for a while, then removed', async () => {
  const server = await startMailServer({}, { data: 451 })
  const { mail } = stage.open(`smtp://127.0.0.1:${server.port}`)
  await queue()
  await untilTried(1)
  await query('update graphile_worker._private_jobs set attempts = max_attempts - 1')
  await hasten()
  await untilTried(13)
  assert.equal(lines('mail given up').at(-1).attempt, 13)
  const client = new pg.Client(stage.connection)
  await client.connect()
  assert.equal(await pruneFailedMail.run(client), 0)
  await query(`update graphile_worker._private_jobs set run_at = now() - interval '8 days'`)
  assert.equal(await pruneFailedMail.run(client), 1)
  await client.end()
  await nothingLeft()
  await mail.close()
})

test('no log line and no job has an address, a token or a server’s words', async () => {
  const jobs = JSON.stringify(await query('select * from graphile_worker._private_jobs'))
  for (const text of [...logged, jobs]) {
    assert.ok(!text.includes(token), text)
    assert.doesNotMatch(text, /@example|quoting|exämple/, text)
  }
  assert.ok(logged.length > 20)
})
