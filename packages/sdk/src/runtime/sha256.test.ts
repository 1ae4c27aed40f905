import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { sha256 } from './sha256.ts'

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex')
const expected = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')

test('it is SHA-256 for every length of the last block', () => {
  for (let length = 0; length <= 260; length++) {
    const bytes = randomBytes(length)
    assert.equal(hex(sha256(bytes)), expected(bytes), `${length} bytes`)
  }
})

test('a view of a larger buffer and a long message are hashed correctly', () => {
  const memory = randomBytes(1_000_000)
  for (const [from, to] of [
    [1, 65],
    [7, 7],
    [3, 999_999],
  ]) {
    const part = new Uint8Array(
      memory.buffer,
      memory.byteOffset + (from as number),
      (to as number) - (from as number),
    )
    assert.equal(hex(sha256(part)), expected(part))
  }
})
