import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nodeOptions } from '../../../server/src/platform/http/server.ts'
import { drawKey } from '../../test/keys.ts'
import { answered, startRawService } from '../../test/raw-service.ts'
import { until } from '../../test/until.ts'
import { readConnection } from '../http/connection-options.ts'
import { nodeHttp } from './node-http.ts'

test('a connection is given up long before the service closes it', () => {
  for (const url of ['http://keys.example.com', 'https://keys.example.com']) {
    // The types do not have its options.
    const agent = nodeHttp(new URL(url))?.agent() as { options?: { timeout?: number } } | undefined
    const { timeout = Number.POSITIVE_INFINITY } = agent?.options ?? {}
    assert.ok(2 * timeout < Number(nodeOptions.keepAliveTimeout), `${timeout}`)
  }
})

test('all clients of a process share the connections of their scheme', () => {
  const agentOf = (url: string) => nodeHttp(new URL(url))?.agent()
  assert.equal(agentOf('http://a.example'), agentOf('http://b.example:8080'))
  assert.notEqual(agentOf('http://a.example'), agentOf('https://a.example'))
})

test('a connection that a proxy keeps for a second only is not used again', async () => {
  const service = await startRawService(({ socket }) => {
    socket.write(answered('{}', 'Keep-Alive: timeout=1\r\n'))
  })
  const call = readConnection({ url: service.url, secretKey: drawKey('krsk_live') })
  for (let turn = 1; turn <= 2; turn++) {
    await call({ method: 'POST', path: '/', accepts: [200], timeoutMs: 20_000, maxBytes: 100 })
    await until(() => service.open === 0, 'the connection is closed')
    assert.equal(service.connections, turn)
  }
})
