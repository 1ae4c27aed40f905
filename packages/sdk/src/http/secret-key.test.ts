import assert from 'node:assert/strict'
import { test } from 'node:test'
import { drawKey } from '../../test/keys.ts'
import type { KeyrailError } from '../runtime/errors.ts'
import { readConnection } from './connection-options.ts'
import type { SecretKeySource } from './secret-key.ts'

/** The headers of two calls. */
async function headersSent(secretKey: SecretKeySource) {
  const sent: Headers[] = []
  const call = readConnection({
    url: 'https://keys.example.com',
    secretKey,
    fetch: async (_, init) => {
      sent.push(new Headers(init?.headers))
      return Response.json({})
    },
  })
  const ask = () => call({ method: 'GET', path: '/', accepts: [200], timeoutMs: 50, maxBytes: 100 })
  await ask()
  await ask()
  return sent
}

test('a function may return another secret key for each call', async () => {
  const [one, two] = [drawKey('krsk_live'), drawKey('krsk_live')]
  for (const later of [(key: string) => key, async (key: string) => key]) {
    const keys = [one, two]
    const sent = await headersSent(() => later(keys.shift() ?? ''))
    assert.deepEqual(
      sent.map(headers => headers.get('authorization')),
      [`Bearer ${one}`, `Bearer ${two}`],
    )
  }
})

test('every call sends the SDK’s version and the runtime', async () => {
  for (const headers of await headersSent(drawKey('krsk_live'))) {
    assert.match(headers.get('user-agent') ?? '', /^keyrail-sdk\/\d+\.\d+\.\d+ node\/\d+/)
  }
})

test('a secretKey function that fails or hangs fails the call, and shows no secret', async () => {
  const secret = drawKey('krsk_live')
  const wrong: [string, () => unknown][] = [
    ['secret_key_unavailable', () => assert.fail(secret)],
    ['secret_key_unavailable', () => Promise.reject(new Error(secret))],
    ['secret_key_invalid', () => `${secret}x`],
    ['secret_key_invalid', async () => undefined],
    ['timeout', () => new Promise(() => {})],
  ]
  const messages: string[] = []
  for (const [code, source] of wrong) {
    await assert.rejects(headersSent(source as SecretKeySource), (error: KeyrailError) => {
      assert.equal(error.code, code)
      messages.push(error.message)
      return !error.message.includes(secret)
    })
  }
  assert.equal(messages.at(-1), 'GET / was not sent: the function secretKey did not return in time')
})

test('a port that fetch refuses is named, and not tried again', async () => {
  const { fetch } = globalThis
  const call = readConnection({ url: 'http://127.0.0.1:6000', secretKey: drawKey('krsk_live'), fetch })
  const asked = call({ method: 'GET', path: '/', accepts: [200], timeoutMs: 5_000, maxBytes: 100 })
  await assert.rejects(asked, {
    code: 'network_error',
    retryable: false,
    message:
      'GET / was not sent: fetch refuses the port of http://127.0.0.1:6000, which is reserved. Choose another port',
  })
})
