import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { drawEncryptionKey, readEncryptionKeys } from './encryption-keys.ts'

const bytes = randomBytes(32)
/** A key whose base64 and base64url differ. */
const odd = Buffer.concat([Buffer.from([0xfb, 0xef, 0xff]), randomBytes(29)])

test('a key is read from base64, base64url and hexadecimal, padded or not', () => {
  for (const key of [bytes, odd]) {
    const spellings = [
      key.toString('base64'),
      key.toString('base64').replace('=', ''),
      key.toString('base64url'),
      `${key.toString('base64url')}=`,
      key.toString('hex'),
      key.toString('hex').toUpperCase(),
      ` ${key.toString('base64')}\r\n`,
    ]
    const read = spellings.map(readEncryptionKeys)
    for (const { faults, keys } of read) {
      assert.deepEqual([faults, keys.length], [[], 1])
      assert.deepEqual(keys[0]?.key, key)
      assert.equal(keys[0]?.id, read[0]?.keys[0]?.id)
    }
  }
})

test('a new key can be read back, and its id reveals nothing about it', () => {
  const text = drawEncryptionKey(randomBytes)
  const [key] = readEncryptionKeys(text).keys
  assert.match(key?.id ?? '', /^[0-9a-f]{16}$/)
  assert.ok(
    !Buffer.from(text, 'base64')
      .toString('hex')
      .includes(key?.id ?? ''),
  )
})

test('several keys are separated by commas or on separate lines', () => {
  const texts = [
    drawEncryptionKey(randomBytes),
    drawEncryptionKey(randomBytes),
    drawEncryptionKey(randomBytes),
  ]
  const ids = texts.map(text => readEncryptionKeys(text).keys[0]?.id)
  for (const between of [',', ', ', '\n', '\r\n', ' ']) {
    const { keys, faults } = readEncryptionKeys(texts.join(between))
    assert.deepEqual([keys.map(({ id }) => id), faults], [ids, []])
  }
  assert.deepEqual(readEncryptionKeys(''), { keys: [], faults: [] })
})

test('an invalid key is reported with the reason, and never quoted', () => {
  const good = bytes.toString('base64')
  for (const [text, fault] of [
    ['correct horse battery staple', /^key 1 of 4 must be 32 bytes in base64 or hexadecimal$/],
    [randomBytes(31).toString('base64'), /^the key must be 32 bytes/],
    [randomBytes(33).toString('base64'), /^the key must be 32 bytes/],
    [randomBytes(16).toString('hex'), /^the key must be 32 bytes/],
    [bytes.toString('hex').slice(1), /^the key must be 32 bytes/],
    [`${good}=`, /^the key must be 32 bytes/],
    // The last character has bits that belong to no byte.
    [`${'A'.repeat(42)}B=`, /^the key must be 32 bytes/],
    [Buffer.alloc(32).toString('base64'), /^the key is not random$/],
    ['0123456789abcdef'.repeat(4), /^the key is not random$/],
    [`${good},${bytes.toString('hex')}`, /^key 2 of 2 is given twice$/],
    [`${good},short`, /^key 2 of 2 must be 32 bytes/],
  ] as const) {
    const { faults } = readEncryptionKeys(text)
    assert.match(faults[0] ?? '', fault)
    for (const word of text.split(/[\s,]+/)) assert.ok(!faults.join().includes(word))
  }
})
