import assert from 'node:assert/strict'
import { generateKeyPairSync, sign, verify } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { toDer } from './ecdsa-der.ts'

const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })

test('what was signed for JWS verifies as X.509 has it, and no other text does', () => {
  for (let n = 0; n < 2_000; n++) {
    const text = Buffer.from(`text ${n}`)
    const der = toDer(sign('sha256', text, { key: privateKey, dsaEncoding: 'ieee-p1363' }))
    assert.ok(verify('sha256', text, publicKey, der))
    assert.equal(verify('sha256', Buffer.from(`text ${n}.`), publicKey, der), false)
  }
})

test('every pair of numbers is written in as few bytes as it takes, is never negative, and can be read back', () => {
  const byte = fc.oneof(fc.constantFrom(0, 1, 0x7f, 0x80, 0xff), fc.nat(255))
  const number = fc
    .tuple(fc.nat(32), fc.array(byte, { minLength: 32, maxLength: 32 }))
    .map(([zeros, bytes]) => Buffer.from(bytes.fill(0, 0, zeros)))
  fc.assert(
    fc.property(number, number, (r, s) => {
      const der = toDer(Buffer.concat([r, s]))
      const first = readInteger(der, 2)
      const second = readInteger(der, first.end)
      assert.deepEqual([der[0], der[1], second.end], [0x30, der.length - 2, der.length])
      assert.deepEqual(
        [first.value, second.value],
        [BigInt(`0x${r.toString('hex')}`), BigInt(`0x${s.toString('hex')}`)],
      )
    }),
  )
})

function readInteger(der: Buffer, at: number): { value: bigint; end: number } {
  const length = der[at + 1] ?? 0
  const bytes = der.subarray(at + 2, at + 2 + length)
  assert.deepEqual([der[at], bytes.length], [0x02, length])
  const [first = 0, second = 0] = bytes
  assert.ok(first < 0x80, 'it is not negative')
  assert.ok(length === 1 || first !== 0 || second >= 0x80, 'it has no byte too many')
  return { value: BigInt(`0x${bytes.toString('hex')}`), end: at + 2 + length }
}
