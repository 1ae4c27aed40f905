import type { Socket } from 'node:net'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import type { Instead } from '../feed-service.ts'
import { answerWith, isDelta, type Mode, modesOf } from './mode.ts'

/** Failures below JSON: sockets, heads, lengths and encodings. */

const HEAD = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n'
const switched = 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: odd\r\n\r\n'
const raw = (write: (socket: Socket) => void) => (): Instead => ({ raw: write })
const says = (...parts: (string | Buffer)[]) =>
  raw(socket => socket.end(Buffer.concat(parts.map(Buffer.from))))

/** Sends one byte after the other, without end. */
const trickles = (start: string, piece: string) =>
  raw(socket => {
    socket.write(start)
    const timer = setInterval(() => socket.write(piece), 50)
    socket.once('close', () => clearInterval(timer))
  })
/** Sends as much as the client reads. */
const floods = (start: string, piece: Buffer) =>
  raw(socket => {
    const more = () => {
      while (socket.writable && socket.write(piece));
    }
    socket.on('drain', more)
    socket.write(start)
    more()
  })

const spaces = Buffer.alloc(1024 * 1024, ' ')
const chunk = Buffer.concat([Buffer.from('100000\r\n'), spaces, Buffer.from('\r\n')])
/** Lets a request time out before keys go stale and before the test gives up. */
const briefly = { cachedTtlMs: 30_000, isSlow: true } as const
/** Megabytes an answer: beside others on a busy machine none would come before its time-out. */
const alone = { isSlow: true, isAlone: true } as const
let bomb: Buffer | undefined
/** 100 KB that decompress to 100 MB. */
const bombed = () => {
  bomb ??= gzipSync(Buffer.alloc(100 * 1024 * 1024, ' '))
  return bomb
}
let brotliBomb: Buffer | undefined
const brotliBombed = () => {
  brotliBomb ??= brotliCompressSync(Buffer.alloc(100 * 1024 * 1024, ' '), {
    params: { [constants.BROTLI_PARAM_QUALITY]: 1 },
  })
  return brotliBomb
}
const gzip = { 'content-encoding': 'gzip' }
const brotli = { 'content-encoding': 'br' }

export const wireModes: Mode[] = modesOf([
  ['a head that comes byte by byte', trickles(`${HEAD}X-Slow: `, 'a'), 'timeout', briefly],
  [
    'a body that comes byte by byte',
    trickles(`${HEAD}Content-Length: 100000\r\n\r\n`, ' '),
    'timeout',
    briefly,
  ],
  ['no answer', () => ({ hang: true }), 'timeout', briefly],
  ['a head and no body', raw(socket => socket.write(`${HEAD}Content-Length: 9\r\n\r\n`)), 'timeout', briefly],
  [
    'a held answer that never comes',
    asked => (isDelta(asked) ? { hang: true } : undefined),
    'timeout',
    { only: 'serving', ...briefly },
  ],
  [
    'answers before the answer, for ever',
    trickles('', 'HTTP/1.1 103 Early Hints\r\n\r\n'),
    'timeout',
    briefly,
  ],
  ['a switch to another protocol', says(switched), 'network_error'],
  ['half a connection', raw(socket => socket.end(`${HEAD}Content-Length: 9\r\n\r\n{`)), 'network_error'],
  ['two answers', says(`${HEAD}Content-Length: 2\r\n\r\n{}`.repeat(2)), 'bad_response'],
  ['a connection that is closed', raw(socket => socket.end()), 'network_error'],
  ['a connection that is reset', raw(socket => socket.resetAndDestroy()), 'network_error'],
  ['a body that is cut', says(`${HEAD}Content-Length: 9999\r\n\r\n{"object":`), 'network_error'],
  [
    'a chunked body that is cut',
    says(`${HEAD}Transfer-Encoding: chunked\r\n\r\n9\r\n{"object"`),
    'network_error',
  ],
  [
    'a length that is too small',
    says(`${HEAD}Content-Length: 10\r\n\r\n{"object":"policy_delta"}`),
    'bad_response',
  ],
  ['a length that is absurd', says(`${HEAD}Content-Length: 99999999999999\r\n\r\n{}`), 'network_error'],
  ['a length that is negative', says(`${HEAD}Content-Length: -1\r\n\r\n{}`), 'network_error'],
  ['two lengths', says(`${HEAD}Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}`), 'network_error'],
  ['chunks without a size', says(`${HEAD}Transfer-Encoding: chunked\r\n\r\nxyz\r\n{}`), 'network_error'],
  ['bytes that are not HTTP', says(Buffer.from([0, 255, 1, 254, 13, 10, 13, 10])), 'network_error'],
  ['another protocol', says('SSH-2.0-OpenSSH_9.9\r\n'), 'network_error'],
  ['an invalid status', says('HTTP/1.1 999999 Odd\r\n\r\n'), 'network_error'],
  ['a header with a control character', says(`${HEAD}X-Odd: a\u0000b\r\n\r\n`), 'network_error'],
  ['a head that never ends', floods(HEAD, Buffer.from(`X-More: ${'x'.repeat(4_000)}\r\n`)), 'network_error'],
  ['a body that never ends', floods(`${HEAD}\r\n`, spaces), 'response_too_large', alone],
  [
    'chunks that never end',
    floods(`${HEAD}Transfer-Encoding: chunked\r\n\r\n`, chunk),
    'response_too_large',
    alone,
  ],
  ['a bomb of gzip', () => ({ headers: gzip, body: bombed() }), 'response_too_large', alone],
  ['a bomb of Brotli', () => ({ headers: brotli, body: brotliBombed() }), 'response_too_large', alone],
  ['invalid Brotli', () => ({ headers: brotli, body: 'not Brotli' }), 'network_error'],
  [
    'an encoding that nobody asked for',
    () => ({ headers: { 'content-encoding': 'x-odd' }, body: 'odd' }),
    'bad_response',
  ],
  ['invalid gzip', () => ({ headers: gzip, body: 'not gzip' }), 'network_error'],
  [
    'truncated gzip',
    () => ({ headers: gzip, body: gzipSync('{"object":1}').subarray(0, 15) }),
    'network_error',
    // It takes the part for the whole.
    { fetchCode: 'bad_response' },
  ],
  [
    'the right body as another type',
    (asked, service) => ({ ...answerWith(asked, service, {}), headers: { 'content-type': 'image/png' } }),
  ],
  [
    'an unknown entity tag',
    (asked, service) => ({
      ...answerWith(asked, service, {}),
      headers: { etag: `W/"${'x'.repeat(8_000)}"` },
    }),
  ],
  [
    'a false Preference-Applied',
    (asked, service) => ({ ...answerWith(asked, service, {}), headers: { 'preference-applied': 'wait=25' } }),
  ],
  [
    'a Retry-After with the right body',
    (asked, service) => ({ ...answerWith(asked, service, {}), headers: { 'retry-after': '86400' } }),
  ],
])
