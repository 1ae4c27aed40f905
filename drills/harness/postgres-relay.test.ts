import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { postgresSplitter } from './postgres-relay.ts'
import type { Side } from './relay.ts'

const message = (letter: string, body: string) => {
  const bytes = Buffer.alloc(5 + Buffer.byteLength(body))
  bytes.write(letter)
  bytes.writeUInt32BE(bytes.length - 1, 1)
  bytes.write(body, 5)
  return bytes
}
const startup = Buffer.from('\0\0\0\x0d\0\x03\0\0user\0', 'latin1')

const streams: Record<Side, [Buffer[], string[]]> = {
  'to server': [
    [
      startup,
      message('Q', 'begin\0'),
      message('P', 'keys.insert\0insert …\0'),
      message('B', '\0keys.insert\0…'),
      message('S', ''),
    ],
    ['startup', 'Q begin', 'P keys.insert', 'B keys.insert', 'S'],
  ],
  'to client': [
    [message('1', ''), message('C', 'COMMIT\0'), message('Z', 'I')],
    ['1', 'C COMMIT', 'Z'],
  ],
}

for (const side of Object.keys(streams) as Side[]) {
  test(`traffic ${side} is split at its messages, however the bytes arrive`, () => {
    const [messages, labels] = streams[side]
    const whole = Buffer.concat(messages)
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: whole.length })), cuts => {
        const split = postgresSplitter(side)
        const places = [0, ...cuts.toSorted((a, b) => a - b), whole.length]
        const pieces = places.slice(1).flatMap((end, i) => split(whole.subarray(places[i], end)))
        assert.deepEqual(
          pieces.map(({ label }) => label),
          labels,
        )
        assert.deepEqual(Buffer.concat(pieces.map(({ bytes }) => bytes)), whole)
      }),
    )
  })
}
