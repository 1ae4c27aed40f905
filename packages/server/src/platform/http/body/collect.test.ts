import assert from 'node:assert/strict'
import type { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { Refusal } from '../../refusal.ts'
import { type CollectLimits, collectBody } from './collect.ts'
import { boundPieces, pieceLimits } from './pieces.ts'

const mebibyte = 1_048_576
const { bytesOfOne, slackOfChunks, slackOfPackets } = pieceLimits
/** A request whose body the test gives piece by piece, as Node's parser does. */
function requesting(headers: Record<string, string>) {
  const stream = new Readable({ read() {}, highWaterMark: 65_536 })
  const request = Object.assign(stream, { headers }) as unknown as IncomingMessage
  boundPieces(request, { headersSent: false })
  return request
}
const chunked = { 'transfer-encoding': 'chunked' }
const announcing = (bytes: number) => ({ 'content-length': String(bytes) })

function collect(request: IncomingMessage, limits: Partial<CollectLimits> = {}): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>()
  collectBody(request, { most: 8 * mebibyte, hold: null, ...limits }, (error, bytes) =>
    error === null ? resolve(bytes) : reject(error),
  )
  return promise
}
const refusedAs = (code: string) => (error: unknown) => error instanceof Refusal && error.code === code
const piece = (bytes: number, fill = 'a') => Buffer.from(fill.repeat(bytes))

test('a body reaches its reader whole, however it is cut', async () => {
  const text = Buffer.from(Array.from({ length: 3 * mebibyte }, (_, i) => i % 251))
  for (const headers of [chunked, announcing(text.length)]) {
    for (const sizes of [[text.length], [1, 4_095, 1, 70_000, 1_400, 256]]) {
      const request = requesting(headers)
      const collected = collect(request)
      for (let at = 0, i = 0; at < text.length; i++) {
        const size = sizes[i % sizes.length] ?? 0
        request.push(Buffer.from(text.subarray(at, at + size)))
        at += size
      }
      request.push(null)
      assert.ok((await collected).equals(text))
    }
  }
})

test('a body without bytes is empty, with a length and without one', async () => {
  for (const headers of [chunked, announcing(0)]) {
    const request = requesting(headers)
    request.push(null)
    assert.equal((await collect(request)).length, 0)
  }
})

test('memory is reserved before a piece is copied, and the piece is freed at once', async () => {
  const request = requesting(chunked)
  const reserved: number[] = []
  const collected = collect(request, { hold: arrived => reserved.push(arrived) })
  const pieces = [5_000, 300, 70_000].map(bytes => Buffer.from(new ArrayBuffer(bytes)))
  for (const one of pieces) {
    request.push(one)
    await setImmediate()
  }
  assert.deepEqual(reserved, [5_000, 5_300, 75_300])
  assert.ok(pieces.every(({ buffer }) => (buffer as ArrayBuffer).detached))
  request.push(null)
  assert.equal((await collected).length, 75_300)
})

test('a body without room is refused with the piece that is too much', async () => {
  const request = requesting(chunked)
  const noCapacity = new Refusal('unavailable')
  const collected = collect(request, {
    hold: arrived => {
      if (arrived > 100) throw noCapacity
    },
  })
  request.push(piece(100))
  request.push(piece(1))
  await assert.rejects(collected, error => error === noCapacity)
  assert.equal(request.listenerCount('data'), 0)
})

test('a body that is too large, too short, or cut off is refused as ever', async () => {
  const large = requesting(chunked)
  large.push(piece(101))
  await assert.rejects(collect(large, { most: 100 }), refusedAs('payload_too_large'))
  const short = requesting(announcing(10))
  short.push(piece(9))
  short.push(null)
  await assert.rejects(collect(short), refusedAs('malformed_request'))
  const cut = requesting(announcing(10))
  const collected = collect(cut)
  const aborted = new Error('aborted')
  cut.push(piece(9))
  cut.destroy(aborted)
  await assert.rejects(collected, error => error === aborted)
})

/** Gives pieces of one byte. @returns how many of them the reader got. */
async function giveBytes(request: IncomingMessage, count: number): Promise<number> {
  let got = 0
  request.on('data', () => {
    got += 1
  })
  for (let i = 0; i < count; i++) request.push(piece(1))
  await setImmediate()
  return got
}

test('chunks of one byte are refused, and the rest of them is dropped', async () => {
  for (const [headers, slack] of [
    [chunked, slackOfChunks],
    [announcing(mebibyte), slackOfPackets],
  ] as const) {
    const request = requesting(headers)
    const refused = assert.rejects(collect(request), refusedAs('malformed_request'))
    const got = await giveBytes(request, 20_000)
    await refused
    // The bytes of the slack allow a few pieces more.
    assert.ok(got <= slack + slack / bytesOfOne + 1, `${got} pieces`)
  }
})

test('chunks that came too finely before their reader are refused when it begins', async () => {
  const request = requesting(chunked)
  for (let i = 0; i < 20_000; i++) request.push(piece(1))
  assert.ok(request.readableLength < 2 * slackOfChunks)
  await assert.rejects(collect(request), refusedAs('malformed_request'))
})

test('a slow client with a length is served: segments, short ones among them, or single bytes', async () => {
  const { length } = piece(1_400)
  const segments = Array.from({ length: 6_000 }, (_, i) => (i % 3 === 0 ? 1 + (i % 50) : length))
  for (const sizes of [segments, Array(slackOfPackets).fill(1), Array(slackOfChunks).fill(1)]) {
    const bytes = sizes.reduce((sum, size) => sum + size, 0)
    for (const headers of sizes.length === slackOfPackets
      ? [announcing(bytes)]
      : [announcing(bytes), chunked]) {
      const request = requesting(headers)
      const collected = collect(request)
      for (const size of sizes) request.push(piece(size))
      request.push(null)
      assert.equal((await collected).length, bytes)
    }
  }
})
