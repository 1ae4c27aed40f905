import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { displayPrefix, drawToken, isWellFormedToken } from './token.ts'

const scannerPattern = /\bkr(?:(?:sk)?_(?:live|test)|ses)_[0-9A-Za-z]{38}\b/

test('a new credential matches the published scanner pattern and its own checksum', () => {
  for (const prefix of ['kr_live', 'kr_test', 'krsk_live', 'krsk_test', 'krses']) {
    const token = drawToken(prefix, randomBytes)
    assert.match(token, scannerPattern)
    assert.ok(isWellFormedToken(token))
    assert.ok(token.startsWith(`${prefix}_`))
  }
})

test('the checksum is CRC-32 in base62, left-padded, over everything before it', () => {
  const token = drawToken('kr_live', () => Buffer.alloc(32, 0))
  assert.equal(token, `kr_live_${'0'.repeat(32)}${referenceChecksum(`kr_live_${'0'.repeat(32)}`)}`)
})

test('any changed character, even test edited to live, breaks the checksum', () => {
  const token = drawToken('krsk_live', randomBytes)
  for (let i = 0; i < token.length; i++) {
    const other = token[i] === 'a' ? 'b' : 'a'
    assert.equal(isWellFormedToken(token.slice(0, i) + other + token.slice(i + 1)), false, `position ${i}`)
  }
  assert.equal(isWellFormedToken(token.replace('live', 'test')), false)
})

test('bytes that would favour a character are discarded', () => {
  let calls = 0
  const token = drawToken('kr_live', size => Buffer.alloc(size, calls++ === 0 ? 255 : 61))
  assert.equal(token.slice(8, 40), 'z'.repeat(32))
  assert.equal(calls, 2)
})

test('the display prefix has only four random characters', () => {
  assert.equal(displayPrefix(`kr_live_abcd${'x'.repeat(34)}`), 'kr_live_abcd')
  assert.equal(displayPrefix(`krses_abcd${'x'.repeat(34)}`), 'krses_abcd')
})

/** The bitwise definition of CRC-32 (IEEE 802.3), to compare with the library's. */
function referenceChecksum(text: string): string {
  let crc = 0xffffffff
  for (const byte of Buffer.from(text)) {
    crc ^= byte
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0)
  }
  let rest = BigInt((crc ^ 0xffffffff) >>> 0)
  const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
  let out = ''
  for (; out.length < 6; rest /= 62n) out = digits[Number(rest % 62n)] + out
  return out
}
