import assert from 'node:assert/strict'
import { createServer, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { FleetConnection, readHead } from './fleet-connection.ts'

/** A server that answers each request with the next answer of the list, in the given pieces. */
async function answering(t: TestContext, answers: string[][]): Promise<URL> {
  const left = [...answers]
  const sockets = new Set<Socket>()
  const server = createServer(socket => {
    sockets.add(socket.setNoDelay(true))
    socket.on('data', async () => {
      for (const piece of left.shift() ?? []) {
        await new Promise(resolve => socket.write(piece, 'latin1', resolve))
        // The client reads the piece in the next poll of this loop, which lies between two turns.
        await turn()
        await turn()
      }
    })
  })
  t.after(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  assert.ok(address && typeof address === 'object')
  return new URL(`http://127.0.0.1:${address.port}`)
}

const get = async (connection: FleetConnection) => {
  let text = ''
  const received = await connection.ask('/', '', (piece, offset) => {
    assert.equal(offset, text.length)
    text += piece.toString('latin1')
  })
  return { ...received, text }
}

test('each body arrives complete and in order, wherever its packets were cut', async t => {
  const long = 'x'.repeat(700_000)
  const url = await answering(t, [
    ['HTTP/1.1 200 OK\r\nconte', 'nt-length: 5\r\netag: W/"1"\r', '\n\r\nhe', 'llo'],
    ['HTTP/1.1 304 Not Modified\r\ncontent-length: 5\r\n\r\n'],
    [`HTTP/1.1 503 -\r\ncontent-length: ${long.length}\r\n\r\n${long}`],
    ['HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n'],
  ])
  const connection = await FleetConnection.open(url)
  t.after(() => connection.close())
  assert.deepEqual(await get(connection), { status: 200, etag: 'W/"1"', bytes: 5, text: 'hello' })
  assert.deepEqual(await get(connection), { status: 304, etag: undefined, bytes: 0, text: '' })
  const { status, text } = await get(connection)
  assert.ok(status === 503 && text === long)
  assert.equal((await get(connection)).bytes, 0)
})

test('an answer beyond its length or without one, and a closed connection, are errors', async t => {
  const url = await answering(t, [
    ['HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\nab'],
    ['HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n'],
  ])
  for (const message of [/longer than its content-length/, /no content-length/]) {
    const connection = await FleetConnection.open(url)
    await assert.rejects(get(connection), message)
    await assert.rejects(get(connection), /closed/)
  }
})

test('a head without a status is an error', () => {
  assert.ok(readHead('SSH-2.0-OpenSSH') instanceof Error)
})
