import assert from 'node:assert/strict'
import { EventEmitter, once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { connect, type Socket } from 'node:net'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { startHarness } from '../../../../test/harness.ts'
import { until } from '../../../../test/until.ts'
import { makeVendor } from '../../../../test/vendor.ts'
import { openWire } from '../../../../test/wire.ts'
import { largeBytesMax } from './large-bodies.ts'

/** A body without an end on a connection that stays open after its answer. */
const mebibyte = 1_048_576
const harness = await startHarness()
const { live } = await makeVendor(harness)
const { port } = await openWire(harness)
const { largeBodies } = harness.deps
const headers = [
  `authorization: Bearer ${live}`,
  'content-type: application/json',
  'transfer-encoding: chunked',
].join('\r\n')

test('a body without room and without end is discarded up to the bytes that its route accepts', async () => {
  const opened = once(harness.app.server, 'connection')
  const others = new EventEmitter() as unknown as ServerResponse
  largeBodies.holdAnswer(others, largeBytesMax)
  const socket = connect({ port, host: '127.0.0.1' }).on('error', () => {})
  const [end] = (await opened) as [Socket]
  const chunk = Buffer.concat([
    Buffer.from(`${mebibyte.toString(16)}\r\n`),
    Buffer.alloc(mebibyte, 'A'),
    Buffer.from('\r\n'),
  ])
  socket.write(`POST /v1/idempotency/complete HTTP/1.1\r\nhost: here\r\n${headers}\r\n\r\n`)
  // More than the extra room of medium bodies takes.
  socket.write(Buffer.concat([chunk, chunk]))
  const [heard] = (await once(socket, 'data')) as [Buffer]
  assert.match(heard.toString(), /^HTTP\/1\.1 503 .*\r\nconnection: keep-alive\r\n/s)
  socket.resume()
  while (!end.destroyed && end.bytesRead < 32 * mebibyte) {
    if (socket.writableLength < mebibyte) socket.write(chunk)
    await setImmediate()
  }
  const { bytesRead } = end
  socket.destroy()
  // What the route accepts, twice: before the answer, and after it. Then what a closing connection discards.
  assert.ok(bytesRead < 18 * mebibyte, `${bytesRead} bytes`)
  others.emit('close')
  await until(() => largeBodies.held() === 0)
})
