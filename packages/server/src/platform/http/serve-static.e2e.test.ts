import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { after, test } from 'node:test'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { startHarness } from '../../../test/harness.ts'
import { Installation } from '../../../test/installation.ts'

const { app } = await startHarness()
const script = '/docs/js/scalar.js'
const large = [script, '/v1/openapi.json']
/** A file of at most a kilobyte is sent uncompressed, because the headers outweigh the saving. */
const files = [...large, '/docs/']

test('a file is sent in an accepted encoding, is equal in each, and HEAD describes it', async () => {
  for (const url of large) {
    const plain = await app.inject({ url })
    assert.equal(plain.statusCode, 200)
    assert.equal(plain.headers['content-encoding'], undefined)
    for (const [accepted, encoding, open] of [
      ['gzip, deflate, br', 'br', brotliDecompressSync],
      ['gzip', 'gzip', gunzipSync],
      ['br;q=0, gzip', 'gzip', gunzipSync],
    ] as const) {
      const headers = { 'accept-encoding': accepted }
      const packed = await app.inject({ url, headers })
      assert.equal(packed.headers['content-encoding'], encoding, url)
      assert.equal(packed.headers.vary, 'Accept-Encoding')
      assert.ok(packed.rawPayload.length < plain.rawPayload.length)
      assert.ok(open(packed.rawPayload).equals(plain.rawPayload))
      const head = await app.inject({ method: 'HEAD', url, headers })
      assert.deepEqual([head.statusCode, head.rawPayload.length], [200, 0])
      for (const name of ['content-length', 'content-encoding', 'content-type', 'etag', 'vary'])
        assert.equal(head.headers[name], packed.headers[name], `${url}: ${name}`)
    }
  }
})

test('a client with a current copy in any encoding gets a 304 without a body', async () => {
  for (const url of files) {
    const { etag } = (await app.inject({ url, headers: { 'accept-encoding': 'br' } })).headers
    assert.match(String(etag), /^W\/"[\w-]{43}"$/)
    for (const held of [`${etag}`, `"other", ${etag}`, String(etag).slice(2), '*']) {
      const again = await app.inject({ url, headers: { 'if-none-match': held } })
      assert.deepEqual([again.statusCode, again.body, again.headers.etag], [304, '', etag])
      assert.deepEqual(
        [again.headers['content-type'], again.headers.vary, again.headers['cache-control']],
        [undefined, 'Accept-Encoding', 'no-cache'],
      )
    }
    assert.equal((await app.inject({ url, headers: { 'if-none-match': 'W/"other"' } })).statusCode, 200)
  }
})

/** The largest resident set of a process so far, in MiB: `VmHWM` of proc(5), which is in KiB. */
const peakMiB = (pid: number) =>
  Number(/^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024

test('callers that request the largest file and read nothing cost no copies of it', async () => {
  const installation = new Installation()
  after(() => installation.remove())
  const { url } = await installation.serve()
  const ask = async () => (await (await fetch(new URL(script, url))).arrayBuffer()).byteLength
  const bytes = await ask()
  await ask()
  const listener = installation.listenerOf(url)
  const before = peakMiB(listener)
  const request = `GET ${script} HTTP/1.1\r\nhost: here\r\n\r\n`
  const sockets = []
  // One pipeline is longer than allowed, the others are not: 1.2 GB of responses that wait for their readers.
  for (const pipelined of [200, ...Array.from({ length: 20 }, () => 16)]) {
    const socket = connect(Number(new URL(url).port), '127.0.0.1').pause()
    socket.on('error', () => {})
    await once(socket, 'connect')
    socket.write(request.repeat(pipelined))
    sockets.push(socket)
  }
  for (let i = 0; i < 5; i++) assert.equal(await ask(), bytes)
  const more = peakMiB(listener) - before
  assert.ok(before > 50, 'that is the process that serves')
  assert.ok(bytes > 3_000_000)
  assert.ok(more < 64, `memory grew by ${Math.round(more)} MiB`)
  for (const socket of sockets) socket.destroy()
})
