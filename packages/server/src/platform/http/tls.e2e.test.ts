import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { copyFileSync, writeFileSync } from 'node:fs'
import { test } from 'node:test'
import { type ConnectionOptions, connect, type TLSSocket } from 'node:tls'
import { makeCertificate } from '../../../test/certificate.ts'
import { figuresFrom } from '../../../test/figures.ts'
import { startHarness } from '../../../test/harness.ts'
import { until } from '../../../test/until.ts'
import { makeVendor } from '../../../test/vendor.ts'
import { readAll, readAnswers } from '../../../test/wire.ts'

const [first, second] = [makeCertificate(), makeCertificate()]
const place = makeCertificate()
const harness = await startHarness({
  publicUrl: 'https://keyrail.example.com',
  tlsCertFile: place.files.cert,
  tlsKeyFile: place.files.key,
})
const { app, logged } = harness
await app.listen({ host: '127.0.0.1', port: 0 })
const { port } = app.server.address() as { port: number }

async function open(options: ConnectionOptions = {}): Promise<TLSSocket> {
  const ca = [first.cert, second.cert, place.cert]
  const socket = connect({ port, host: '127.0.0.1', servername: 'localhost', ca, ...options })
  await once(socket, 'secureConnect')
  return socket
}

const get = (path: string) => `GET ${path} HTTP/1.1\r\nhost: localhost\r\n\r\n`
const fingerprint = (socket: TLSSocket) => socket.getPeerX509Certificate()?.fingerprint256

/** Sends a request on a connection that stays open, and returns the status. */
async function askOn(socket: TLSSocket, path: string): Promise<number> {
  socket.write(get(path))
  const [bytes] = await once(socket, 'data')
  return Number(String(bytes).split(' ')[1])
}

test('a replaced certificate serves the next connections, and held ones go on', async () => {
  const held = await open()
  assert.equal(await askOn(held, '/readyz'), 200)
  for (const next of [first, second]) {
    const shown = fingerprint(await open())
    copyFileSync(next.files.cert, place.files.cert)
    copyFileSync(next.files.key, place.files.key)
    await until(async () => {
      const fresh = await open()
      const served = fingerprint(fresh)
      fresh.destroy()
      return served !== shown
    })
    assert.equal(await askOn(held, '/healthz'), 200)
  }
  assert.equal(held.destroyed, false)
  const [expiresAt = 0] = await figuresFrom(harness.deps.metrics)(
    'keyrail_tls_certificate_expiry_timestamp_seconds',
  )
  assert.equal(expiresAt * 1_000, Date.parse(new X509Certificate(second.cert).validTo))
  const fresh = await open({ ca: second.cert })
  assert.equal(await askOn(fresh, '/readyz'), 200)
  held.destroy()
  fresh.destroy()
})

test('a broken pair leaves the certificate in use, and the log says so', async () => {
  const shown = fingerprint(await open())
  writeFileSync(place.files.key, first.key)
  await until(() => logged.some(line => line.includes('the new certificate cannot be used')))
  const line = logged.find(text => text.includes('the new certificate cannot be used')) ?? ''
  assert.equal(JSON.parse(line).level, 'error')
  assert.match(JSON.parse(line).err.message, /does not belong to the certificate/)
  const socket = await open()
  assert.equal(fingerprint(socket), shown)
  assert.equal(await askOn(socket, '/readyz'), 200)
  socket.destroy()
  assert.ok(!logged.join('').includes('PRIVATE KEY'))
})

test('TLS 1.2 and 1.3 are served, older versions are not', async () => {
  for (const version of ['TLSv1.2', 'TLSv1.3'] as const) {
    const socket = await open({ minVersion: version, maxVersion: version })
    assert.equal(socket.getProtocol(), version)
    assert.equal(await askOn(socket, '/readyz'), 200)
    socket.destroy()
  }
  const old = { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' } as const
  await assert.rejects(open(old), /alert protocol version|unsupported protocol/i)
  const weak = { maxVersion: 'TLSv1.2', ciphers: 'ECDHE-ECDSA-AES128-SHA256:AES128-GCM-SHA256' } as const
  await assert.rejects(open(weak), /handshake failure/i)
  // Plain HTTP on this port is no request.
  await assert.rejects(fetch(`http://127.0.0.1:${port}/healthz`))
})

test('every answer demands TLS from browsers for a year, refusals too', async () => {
  for (const path of ['/readyz', '/v1/keys', '/nothing', '/docs']) {
    const socket = await open()
    socket.write(get(path).replace('\r\n\r\n', '\r\nconnection: close\r\n\r\n'))
    const text = await readAll(socket)
    assert.match(text, /\r\nstrict-transport-security: max-age=31536000; includeSubDomains\r\n/i, path)
  }
})

test('a client that sends its whole body before it reads gets the refusal', async () => {
  const { live } = await makeVendor(harness)
  const bytes = 1_048_576 / 2
  for (const authorization of [live, 'nobody']) {
    const socket = await open()
    socket.pause()
    const head = [
      'POST /v1/auth/sessions HTTP/1.1',
      'host: localhost',
      `authorization: Bearer ${authorization}`,
      'content-type: application/json',
      `content-length: ${bytes}`,
    ]
    await new Promise(resolve => socket.write(`${head.join('\r\n')}\r\n\r\n`, resolve))
    await new Promise(resolve => socket.write(Buffer.alloc(bytes), resolve))
    const [answer] = readAnswers(await readAll(socket.resume()))
    assert.deepEqual([answer?.status, answer?.headers.connection], [413, 'close'])
  }
})
