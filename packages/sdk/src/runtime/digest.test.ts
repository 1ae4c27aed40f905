import assert from 'node:assert/strict'
import { test } from 'node:test'
import { drawKey, lookupHash } from '../../test/keys.ts'
import { digestFromBase64, digestOf } from './digest.ts'

test('the lookup_hash of a key and the digest of the key are the same 32 bytes', () => {
  for (let round = 0; round < 100; round++) {
    const key = drawKey()
    assert.equal(digestFromBase64(lookupHash(key)), digestOf(key))
    assert.equal(digestOf(key).length, 16)
  }
})

test('only 32 bytes in padded standard base64 are a digest', () => {
  const hash = Buffer.alloc(32, 0xfb).toString('base64')
  assert.equal(digestFromBase64(hash)?.length, 16)
  const urlSafe = Buffer.alloc(32, 0xfb).toString('base64url')
  for (const text of [
    '',
    'x',
    hash.slice(0, -1),
    `${hash}=`,
    ` ${hash}`,
    urlSafe,
    `${urlSafe}=`,
    hash.replace('7', '!'),
  ]) {
    assert.equal(digestFromBase64(text), undefined, text)
  }
})
