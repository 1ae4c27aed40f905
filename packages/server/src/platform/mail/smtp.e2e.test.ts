import assert from 'node:assert/strict'
import { createServer, type Socket } from 'node:net'
import { after, test } from 'node:test'
import tls from 'node:tls'
import type { SMTPServerOptions } from 'smtp-server'
import { makeCertificate } from '../../../test/certificate.ts'
import { startMailServer } from '../../../test/smtp-server.ts'
import { openTransport } from './mail.ts'
import { readMailRoute } from './route.ts'
import { readMailSettings } from './settings.ts'
import { NotSent } from './transport.ts'

const letter = { to: 'ann@example.com', subject: 'Hello', paragraphs: ['Hello.'] }
const postmark = {
  from: { name: 'Keyrail', address: 'no-reply@example.com' },
  at: new Date('2026-01-31T09:30:00Z'),
  id: '0'.repeat(32),
}
const never = new AbortController().signal

async function send(url: string, signal = never): Promise<string> {
  const transport = await openTransport(readMailRoute(url))
  return await transport.send(letter, 'hello', postmark, signal).then(
    () => 'sent',
    error => {
      assert.ok(error instanceof NotSent, String(error))
      assert.equal(error.isFinal, false)
      return error.code
    },
  )
}

const { files: _, ...certificate } = makeCertificate()

/** A server with a login, and every login that it was sent. */
async function startWithLogin(options: SMTPServerOptions) {
  const logins: string[] = []
  const server = await startMailServer({
    allowInsecureAuth: true,
    ...options,
    onAuth({ username, password }, _session, done) {
      logins.push(`${username} ${password}`)
      if (username === 'us@er' && password === 'p:/#w é') done(null, { user: username })
      else done(new Error('no'))
    },
  })
  return { ...server, logins }
}
const login = 'us%40er:p%3A%2F%23w%20%C3%A9@'
const wrongLogin = 'us%40er:hush@'

test('an untrusted certificate is refused, before the login or any content is sent', async () => {
  for (const secure of [true, false]) {
    const server = await startWithLogin({ ...certificate, secure })
    const scheme = secure ? 'smtps' : 'smtp'
    for (const who of ['', login]) {
      assert.match(await send(`${scheme}://${who}localhost:${server.port}`), /^(ESOCKET|ETLS)/)
    }
    assert.deepEqual([server.received, server.logins], [[], []])
  }
})

test('with a trusted certificate, letter and login are sent over smtps or STARTTLS', async () => {
  const trusted = tls.getCACertificates('default')
  tls.setDefaultCACertificates([...trusted, certificate.cert])
  try {
    for (const secure of [true, false]) {
      // It accepts a login only over TLS.
      const server = await startWithLogin({
        ...certificate,
        secure,
        allowInsecureAuth: false,
        authOptional: false,
      })
      const scheme = secure ? 'smtps' : 'smtp'
      assert.equal(await send(`${scheme}://${login}localhost:${server.port}`), 'sent')
      assert.deepEqual([server.received[0]?.user, server.received[0]?.to], ['us@er', ['ann@example.com']])
      assert.match(
        await send(`${scheme}://${login}127.0.0.1:${server.port}`),
        /^(ESOCKET|ETLS)/,
        'another name',
      )
    }
    const offered = await startMailServer({ ...certificate })
    assert.equal(await send(`smtp://localhost:${offered.port}`), 'sent')
    assert.equal(offered.received[0]?.secure, true)
  } finally {
    tls.setDefaultCACertificates(trusted)
  }
})

test('a login is not sent without TLS, unless the URL allows it', async () => {
  const server = await startWithLogin({})
  assert.match(await send(`smtp://${login}localhost:${server.port}`), /^ETLS/)
  assert.match(await send(`smtp://localhost:${server.port}?tls=required`), /^ETLS/)
  assert.deepEqual([server.received, server.logins], [[], []])
  assert.equal(await send(`smtp://${login}localhost:${server.port}?tls=offered`), 'sent')
  assert.equal(server.received[0]?.user, 'us@er')
  const untrusted = await startWithLogin(certificate)
  assert.equal(await send(`smtp://${login}localhost:${untrusted.port}?tls=never`), 'sent')
  assert.equal(untrusted.received[0]?.secure, false)
})

test('a wrong login is reported by its code, without the server’s words', async () => {
  const server = await startWithLogin({})
  const url = `smtp://${wrongLogin}localhost:${server.port}?tls=never`
  assert.match(await send(url), /^EAUTH .*535$/)
  const transport = await openTransport(readMailRoute(url))
  await assert.rejects(transport.verify(), (error: Error) => /^not sent: EAUTH/.test(error.message))
  assert.deepEqual(new Set(server.logins), new Set(['us@er hush']))
})

test('verifying a working server sends nothing', async () => {
  const server = await startWithLogin({})
  await (await openTransport(readMailRoute(`smtp://${login}localhost:${server.port}?tls=offered`))).verify()
  assert.deepEqual(server.received, [])
})

test('a server that says nothing is disconnected when the service closes', async () => {
  const connected = Promise.withResolvers<Socket>()
  const silent = createServer(socket => connected.resolve(socket))
  await new Promise<void>(resolve => void silent.listen(0, '127.0.0.1', resolve))
  after(() => void silent.close())
  const { port } = silent.address() as { port: number }
  const closing = new AbortController()
  const sending = send(`smtp://127.0.0.1:${port}`, closing.signal)
  const socket = await connected.promise
  socket.resume().on('error', () => {})
  const gone = new Promise(resolve => socket.once('close', resolve))
  closing.abort()
  assert.equal(await sending, 'EABORT')
  await gone
})

test('a server is greeted by the name of the setting', async () => {
  const server = await startMailServer()
  const name = 'keys.example.com'
  const from = { url: `smtp://127.0.0.1:${server.port}`, from: null, publicUrl: null, dataDir: '/' }
  const faults: string[] = []
  const read = (ehloName: string) =>
    readMailSettings({ ...from, ehloName }, (setting, message) => faults.push(`${setting} ${message}`))
  const transport = await openTransport(read(name).route)
  await transport.send(letter, 'hello', postmark, never)
  assert.equal(server.received[0]?.greeting, name)
  for (const good of ['keyrail', '[192.0.2.1]', '[IPv6:2001:db8::1]']) read(good)
  assert.deepEqual(faults, [])
  for (const bad of ['a_b', '-a.example', 'a..example', '[keys]', 'a'.repeat(256), 'http://a.example'])
    read(bad)
  assert.equal(faults.length, 6)
  assert.match(faults[0] ?? '', /^EHLO_NAME must be the full name of a machine/)
})
