import assert from 'node:assert/strict'
import { test } from 'node:test'
import pg from 'pg'
import { jobCount, setStage } from '../../../test/mail-stage.ts'
import { type Answers, startMailServer } from '../../../test/smtp-server.ts'
import { checkMailQueue } from '../../cli/doctor/mail.ts'

const stage = await setStage()
const { queue, hasten, untilAnswer, logged } = stage
const untilTried = (attempts: number) =>
  untilAnswer(
    `select coalesce(max(attempts), 0) as answer from graphile_worker.jobs where locked_at is null`,
    attempts,
  )
const lastLine = (about: string) => logged.map(line => JSON.parse(line)).findLast(({ msg }) => msg === about)
const findQueue = async () => {
  const client = new pg.Client(stage.connection)
  await client.connect()
  try {
    return await checkMailQueue(client)
  } finally {
    await client.end()
  }
}

test('a server that refuses the sender is no missing mailbox: it is tried again, and said', async () => {
  const answers: Answers = {}
  const server = await startMailServer({}, answers)
  const { mail, counted } = stage.open(`smtp://127.0.0.1:${server.port}`)
  const refusals: [Answers, string][] = [
    [{ mailFrom: 550 }, 'MAIL FROM 550'],
    [{ mailFrom: 552 }, 'MAIL FROM 552'],
    [{ mailFrom: 553 }, 'MAIL FROM 553'],
    // Postfix answers to the recipient what it has against greeting, client and sender.
    [{ recipient: 504, recipientText: '5.5.2 <localhost>: Helo command rejected' }, 'RCPT TO 504 5.5.2'],
    [{ recipient: 530, recipientText: '5.7.0 Authentication required' }, 'RCPT TO 530 5.7.0'],
    [{ recipient: 550, recipientText: '5.7.1 Relaying denied' }, 'RCPT TO 550 5.7.1'],
    [{ recipient: 550, recipientText: '5.1.8 Bad sender address' }, 'RCPT TO 550 5.1.8'],
    [{ recipient: 553, recipientText: 'sorry, that domain is not allowed' }, 'RCPT TO 553'],
    [{ recipient: 554, recipientText: '5.7.1 Relay access denied' }, 'RCPT TO 554 5.7.1'],
  ]
  await queue()
  for (const [i, [answer, code]] of refusals.entries()) {
    for (const name of ['mailFrom', 'recipient', 'recipientText'] as const) delete answers[name]
    Object.assign(answers, answer)
    await hasten()
    await untilTried(i + 1)
    const line = lastLine('mail not sent')
    assert.deepEqual([line?.code, line?.refused, line?.level], [`EENVELOPE ${code}`, 'sender', 'error'])
  }
  const { status, message } = await findQueue()
  assert.equal(
    `${status}: ${message}`,
    'fault: messages that the mail server did not take because of their sender: 1',
  )
  assert.deepEqual(await counted(), [
    `keyrail_mail_total{kind="reset",outcome="sender_refused"} ${refusals.length}`,
  ])
  for (const name of ['mailFrom', 'recipient', 'recipientText'] as const) delete answers[name]
  await hasten()
  await server.untilReceived(1)
  await untilAnswer(jobCount, 0)
  assert.equal((await findQueue()).status, 'ok')
  await mail.close()
})

test('a mailbox that does not exist is given up at once, in whatever words', async () => {
  const answers: Answers = {}
  const server = await startMailServer({}, answers)
  const { mail } = stage.open(`smtp://127.0.0.1:${server.port}`)
  for (const [code, text] of [
    [550, 'no such user'],
    [551, 'user has moved'],
    [550, '5.1.1 no such user'],
    [553, '5.1.3 bad syntax of a mailbox'],
    [552, '5.2.2 mailbox full'],
  ] as const) {
    Object.assign(answers, { recipient: code, recipientText: text })
    const before = logged.length
    await queue()
    await untilAnswer(jobCount, 0)
    const line = logged
      .slice(before)
      .map(each => JSON.parse(each))
      .find(({ msg }) => msg === 'mail given up')
    assert.match(line?.code ?? '', new RegExp(`^EENVELOPE RCPT TO ${code}`), text)
    assert.equal(line.refused, undefined)
  }
  assert.deepEqual(server.received, [])
  await mail.close()
})
