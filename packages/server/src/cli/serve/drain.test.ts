import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { after, describe, test } from 'node:test'
import { makeDatabase, testCluster } from '../../../test/database.ts'
import { encryptionKey } from '../../../test/encryption-key.ts'
import { startTcpProxy } from '../../../test/tcp-proxy.ts'
import { until } from '../../../test/until.ts'
import { readConfig } from '../../config.ts'
import { startService } from '../../main.ts'
import { serviceBudgets } from '../../platform/budgets.ts'
import { createLog } from '../../platform/observe/log.ts'
import { drain } from './drain.ts'

describe('draining a service', async () => {
  const database = await makeDatabase(testCluster())
  after(() => database.drop())
  const { config } = readConfig({ SERVICE_PORT: '0', SERVICE_ENCRYPTION_KEY: encryptionKey })
  const start = () =>
    startService({ config, log: createLog('silent'), connection: { ...database.connection } })

  /** Sends the head of a request, and never its body. */
  async function hangOn(url: string) {
    const { hostname, port } = new URL(url)
    const socket = connect(Number(port), hostname)
    socket.on('error', () => {})
    socket.write(
      'POST /v1/auth/sessions HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 9\r\nexpect: 100-continue\r\n\r\n',
    )
    await once(socket, 'data')
    return socket
  }

  test('a Postgres that hangs does not keep a process that has answered its requests', async () => {
    const proxy = await startTcpProxy(database.connection)
    const budgets = { ...serviceBudgets, closeMs: 100 }
    const connection = { ...database.connection, ...proxy.connection }
    const service = await startService({ config, log: createLog('silent'), connection, budgets })
    // It leaves a lane with a connection that waits for work.
    await until(async () => (await fetch(`${service.url}/readyz`)).status === 200)
    proxy.hang()
    assert.equal(await drain(service, new Promise(() => {})), 'drained')
    await proxy.close()
  })

  test('with nothing under way it ends by itself', async () => {
    const service = await start()
    assert.equal(await drain(service, new Promise(() => {})), 'drained')
    await assert.rejects(fetch(`${service.url}/healthz`))
  })

  test('a request that never ends is cut off at the end of the drain', async () => {
    const service = await start()
    const socket = await hangOn(service.url)
    const closed = once(socket, 'close')
    assert.equal(await drain(service, new Promise(() => {}), { limitMs: 100 }), 'cut')
    await closed
  })

  test('within the delay it is not ready, and serves on as before', async () => {
    const service = await start()
    const { promise: hurry, resolve: hurryUp } = Promise.withResolvers<void>()
    const held = await hangOn(service.url)
    const drained = drain(service, hurry, { delayMs: 3_600_000 })
    const readiness = await fetch(`${service.url}/readyz`)
    assert.equal(readiness.status, 503)
    assert.match(await readiness.text(), /This process is about to stop\./)
    const liveness = await fetch(`${service.url}/healthz`)
    assert.equal(liveness.status, 200)
    assert.equal(liveness.headers.get('connection'), 'keep-alive')
    held.write('{}       ')
    const [answer] = await once(held, 'data')
    assert.match(String(answer), /^HTTP\/1\.1 4\d\d .*\r\nConnection: keep-alive\r\n/is)
    hurryUp()
    assert.equal(await drained, 'cut')
    await assert.rejects(fetch(`${service.url}/healthz`))
  })

  test('after the delay it ends by itself', async () => {
    const service = await start()
    assert.equal(await drain(service, new Promise(() => {}), { delayMs: 1 }), 'drained')
    await assert.rejects(fetch(`${service.url}/healthz`))
  })

  test('a request that never ends is cut off when the caller hurries', async () => {
    const service = await start()
    const socket = await hangOn(service.url)
    const closed = once(socket, 'close')
    assert.equal(await drain(service, Promise.resolve()), 'cut')
    await closed
  })
})
