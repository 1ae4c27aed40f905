import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { readEncryptionKeys } from './encryption-keys.ts'
import { openSealing, SealBroken, UnknownKey } from './sealing.ts'

const keyText = () => randomBytes(32).toString('base64')
const [one, two] = [keyText(), keyText()]
const sealingOf = (text: string) => openSealing(readEncryptionKeys(text).keys, randomBytes)
const place = { table: 'service_secrets', column: 'sealed', row: 'cursor' }

test('a sealed value opens to the same bytes, whatever they are', () => {
  const sealing = sealingOf(one)
  for (const size of [0, 1, 16, 32, 1_000]) {
    const plain = randomBytes(size)
    const sealed = sealing.seal(place, plain)
    assert.deepEqual(sealing.open(place, sealed), plain)
    if (size > 8) assert.ok(!sealed.includes(plain))
  }
})

test('the same value is sealed differently each time, with a new data key', () => {
  const sealing = sealingOf(one)
  const plain = randomBytes(32)
  const [first, second] = [sealing.seal(place, plain), sealing.seal(place, plain)]
  // After version and key id, the nonces, sealed data keys and ciphertexts all differ.
  for (let at = 9; at + 8 <= first.length; at += 8)
    assert.notDeepEqual(first.subarray(at, at + 8), second.subarray(at, at + 8))
})

test('a sealed value opens in no other row, column or table', () => {
  const sealing = sealingOf(one)
  const sealed = sealing.seal(place, randomBytes(32))
  for (const elsewhere of [
    { row: 'audit_checkpoint' },
    { row: '' },
    { column: 'other' },
    { table: 'signing_keys' },
    { table: 'service_secrets","sealed', column: 'cursor' },
  ])
    assert.throws(() => sealing.open({ ...place, ...elsewhere }, sealed), SealBroken)
})

test('a sealed value that is changed, cut or combined does not open', () => {
  const sealing = sealingOf(one)
  const sealed = sealing.seal(place, randomBytes(32))
  for (let at = 0; at < sealed.length; at++) {
    const changed = Buffer.from(sealed)
    changed[at] = (changed[at] ?? 0) ^ 1
    assert.throws(
      () => sealing.open(place, changed),
      error => error instanceof SealBroken || error instanceof UnknownKey,
      `byte ${at}`,
    )
  }
  for (const length of [0, 1, 9, 68, 69, 96, sealed.length - 1])
    assert.throws(() => sealing.open(place, sealed.subarray(0, length)), SealBroken, `${length} bytes`)
  assert.throws(() => sealing.open(place, Buffer.concat([sealed, Buffer.of(0)])), SealBroken)
  const other = sealing.seal(place, randomBytes(32))
  // The data key of one value with the ciphertext of another, both sealed for this row.
  assert.throws(
    () => sealing.open(place, Buffer.concat([sealed.subarray(0, 69), other.subarray(69)])),
    SealBroken,
  )
})

test('the first key seals, all open, and a value of a missing key names it', () => {
  const plain = randomBytes(32)
  const old = sealingOf(one).seal(place, plain)
  const both = sealingOf(`${two},${one}`)
  assert.deepEqual(both.open(place, old), plain)
  const fresh = both.seal(place, plain)
  assert.deepEqual(sealingOf(two).open(place, fresh), plain)
  const [id] = sealingOf(one).keyIds
  assert.throws(
    () => sealingOf(two).open(place, old),
    error => error instanceof UnknownKey && error.message.includes(`${id}, which is not given`),
  )
})

test('without a key nothing can be sealed or opened', () => {
  assert.throws(() => sealingOf(''), /no encryption key is given/)
})
