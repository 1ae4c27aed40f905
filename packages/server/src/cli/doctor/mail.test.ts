import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { after, test } from 'node:test'
import pg from 'pg'
import { makeDatabase, testCluster } from '../../../test/database.ts'
import { freshPath } from '../../../test/dump-contents.ts'
import { startMailServer } from '../../../test/smtp-server.ts'
import { readMailRoute } from '../../platform/mail/route.ts'
import { checkMail, checkMailQueue } from './mail.ts'

const look = async (url: string) => {
  const from = { name: '', address: 'no-reply@example.com' }
  const { status, message } = await checkMail({
    databaseUrl: null,
    mail: { route: readMailRoute(url), from },
  })
  return `${status}: ${message}`
}

test('the doctor reports a mail server that works, refuses the login, or is down', async () => {
  const server = await startMailServer({
    allowInsecureAuth: true,
    onAuth: ({ username, password }, _session, done) =>
      password === 'right-word' ? done(null, { user: username }) : done(new Error('no right-word')),
  })
  const place = `127.0.0.1:${server.port}`
  assert.equal(await look(`smtp://${place}`), `ok: sent through ${place}`)
  assert.equal(await look(`smtp://user:right-word@${place}?tls=never`), `ok: sent through ${place}`)
  const found = await look(`smtp://user:wrong-word@${place}?tls=never`)
  assert.match(found, /^fault: 127\.0\.0\.1:\d+ cannot be used: not sent: EAUTH .*535$/)
  assert.doesNotMatch(found, /word/)
  assert.match(await look(`smtp://user:right-word@${place}`), /^fault: .* ETLS/)
  await server.stop()
  assert.match(await look(`smtp://${place}`), /^fault: .* cannot be used: not sent: ESOCKET/)
  assert.deepEqual(server.received, [])
})

test('it reports a mail folder that exists, is missing, or is invalid', async () => {
  const path = freshPath()
  assert.equal(await look(`file:${path}`), `ok: written into ${path}, and not sent`)
  writeFileSync(path, '')
  assert.match(await look(`file:${path}/mail`), /^fault: .* cannot be used: ENOTDIR/)
})

test('it reports a missing queue, and mail that was given up', async () => {
  const { connection, drop } = await makeDatabase(testCluster())
  after(drop)
  const client = new pg.Client(connection)
  await client.connect()
  const queue = async () => {
    const { status, message } = await checkMailQueue(client)
    return `${status}: ${message}`
  }
  assert.equal(await queue(), 'ok: no message was given up')
  await client.query(`select queue_mail('reset', 'reset', sha256('x'), '{}')`)
  assert.equal(await queue(), 'ok: no message was given up')
  await client.query('update graphile_worker._private_jobs set attempts = max_attempts')
  assert.equal(await queue(), 'warning: messages that were given up in the last week: 1')
  await client.query('delete from graphile_worker.migrations where id > 18')
  assert.equal(await queue(), 'fault: is at revision 18 of 20')
  await client.query('drop schema graphile_worker cascade')
  assert.equal(await queue(), 'fault: is missing')
  await client.end()
})
