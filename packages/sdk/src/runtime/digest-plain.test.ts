import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { drawKey, lookupHash } from '../../test/keys.ts'
import type * as Digest from './digest.ts'
import * as fast from './digest.ts'

/** The same module loaded without `process` and `Buffer`, as in workers. */
const { process, Buffer } = globalThis
Object.assign(globalThis, { process: undefined, Buffer: undefined })
const plain: typeof Digest = await import(new URL('./digest.ts?plain', import.meta.url).href)
Object.assign(globalThis, { process, Buffer })

test('a host without Node computes the same digest', () => {
  for (let round = 0; round < 100; round++) {
    const key = drawKey()
    assert.equal(plain.digestOf(key), fast.digestOf(key))
    assert.equal(plain.digestFromBase64(lookupHash(key)), fast.digestOf(key))
  }
  assert.equal(plain.digestFromBase64(`${lookupHash('k')}=`), undefined)
})

test('a host without Node computes the same fingerprint', () => {
  for (const length of [0, 1, 55, 56, 64, 5_000]) {
    const pieces = [randomBytes(3), randomBytes(length)]
    assert.equal(plain.hexDigestOf(pieces), fast.hexDigestOf(pieces))
  }
})
