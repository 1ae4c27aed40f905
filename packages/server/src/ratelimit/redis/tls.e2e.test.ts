import assert from 'node:assert/strict'
import { test } from 'node:test'
import tls from 'node:tls'
import { makeCertificate } from '../../../test/certificate.ts'
import { isAnswered, openWatched } from '../../../test/redis-counters.ts'
import { startRedis } from '../../../test/redis-server.ts'
import { until } from '../../../test/until.ts'
import { RedisRefused } from './seeds.ts'

const { cert, files } = makeCertificate()
/** It accepts only TLS. */
const server = await startRedis(port => [
  ...['--port', '0', '--tls-port', `${port}`, '--tls-auth-clients', 'no', '--requirepass', 'p:/#w é'],
  ...['--tls-cert-file', files.cert, '--tls-key-file', files.key],
])
const login = ':p%3A%2F%23w%20%C3%A9@'
const trusted = tls.getCACertificates('default')

const isNotTrusted = (error: Error) =>
  error instanceof RedisRefused &&
  /^The certificate of the Redis at \S+ is not trusted/.test(error.message) &&
  !error.message.includes('p:/#w')

test('a Redis with an untrusted certificate is refused at the start', async () => {
  await assert.rejects(openWatched(`rediss://${login}localhost:${server.port}`), isNotTrusted)
})

test('a trusted Redis counts over TLS, also after a restart, and only by its certificate’s name', async () => {
  tls.setDefaultCACertificates([...trusted, cert])
  try {
    const { store } = await openWatched(`rediss://${login}localhost:${server.port}`)
    await until(() => isAnswered(store))
    await server.kill()
    await until(async () => !(await isAnswered(store)))
    await server.start()
    await until(() => isAnswered(store))
    // The certificate is for localhost, and not for its address.
    await assert.rejects(openWatched(`rediss://${login}127.0.0.1:${server.port}`), isNotTrusted)
    const plain = await openWatched(`redis://${login}localhost:${server.port}`)
    assert.equal(await isAnswered(plain.store), false)
  } finally {
    tls.setDefaultCACertificates(trusted)
  }
})
