import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { after, describe, test } from 'node:test'
import { makeDatabase, testCluster } from '../../test/database.ts'
import { encryptionKey } from '../../test/encryption-key.ts'
import { readConfig } from '../config.ts'
import { startService } from '../main.ts'
import { createLog } from '../platform/log.ts'
import { drain } from './drain.ts'

describe('draining a service', async () => {
  const database = await makeDatabase(testCluster())
  after(() => database.drop())
  const { config } = readConfig({ SERVICE_PORT: '0', SERVICE_ENCRYPTION_KEY: encryptionKey })
  const start = () =>
    startService({ config, log: createLog('silent'), connection: { ...database.connection } })

  /** A request of which the service has the head, and never gets the body. */
  async function hangOn(url: string) {
    const { hostname, port } = new URL(url)
    const socket = connect(Number(port), hostname)
    socket.on('error', () => {})
    socket.write(
      'POST /v1/workspaces HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\nexpect: 100-continue\r\n\r\n',
    )
    await once(socket, 'data')
    return socket
  }

  test('with nothing under way it ends by itself', async () => {
    const service = await start()
    assert.equal(await drain(service, new Promise(() => {})), 'drained')
    await assert.rejects(fetch(`${service.url}/healthz`))
  })

  test('a request that never ends is cut off when the time is over', async () => {
    const service = await start()
    const socket = await hangOn(service.url)
    const closed = once(socket, 'close')
    assert.equal(await drain(service, new Promise(() => {}), 100), 'cut')
    await closed
  })

  test('a request that never ends is cut off when somebody is in a hurry', async () => {
    const service = await start()
    const socket = await hangOn(service.url)
    const closed = once(socket, 'close')
    assert.equal(await drain(service, Promise.resolve()), 'cut')
    await closed
  })
})
