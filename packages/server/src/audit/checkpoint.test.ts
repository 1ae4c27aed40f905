import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  checkpointKeyOf,
  openNote,
  readCheckpoint,
  readVerifierKey,
  writeCheckpoint,
  writeVerifierKey,
} from './checkpoint.ts'

const bytes = fc.uint8Array({ minLength: 32, maxLength: 32 })
const name = 'keys.example.com/audit'
const workspaceId = '01930c3e-8f5a-7c31-9b0e-2f1a6f0c9d11'

test('a note and a key of another implementation can be read', () => {
  const key = readVerifierKey('PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW')
  assert.ok(key)
  const text =
    "If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n"
  const signature =
    '— PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n'
  assert.equal(openNote(`${text}\n${signature}`, key), text)
  assert.equal(openNote(`${text.replace('answer', 'Answer')}\n${signature}`, key), null)
})

test('a signed checkpoint is read back; other notes are not', () => {
  fc.assert(
    fc.property(bytes, bytes, fc.nat(), (seed, hash, seq) => {
      const head = { seq, hash: Buffer.from(hash) }
      const note = writeCheckpoint(name, seed, workspaceId, head)
      const key = readVerifierKey(writeVerifierKey(checkpointKeyOf(name, seed)))
      assert.ok(key)
      assert.deepEqual(readCheckpoint(note, key), { workspaceId, ...head })
      const other = checkpointKeyOf(
        name,
        Buffer.from(seed).map(byte => byte ^ 1),
      )
      assert.equal(readCheckpoint(note, other), null)
    }),
    { numRuns: 30 },
  )
})

test('any one change of a note is found', () => {
  const seed = Buffer.alloc(32, 7)
  const key = checkpointKeyOf(name, seed)
  const note = writeCheckpoint(name, seed, workspaceId, { seq: 17, hash: Buffer.alloc(32, 1) })
  assert.ok(readCheckpoint(note, key))
  // After the last byte of the signature, base64 has unused bits; then the line feed ends it.
  for (let i = 0; i < note.length - 3; i++) {
    const changed = note.slice(0, i) + String.fromCharCode(note.charCodeAt(i) ^ 1) + note.slice(i + 1)
    assert.equal(readCheckpoint(changed, key), null, `${i}`)
  }
})

test('signatures of other keys on a note are ignored', () => {
  const seed = Buffer.alloc(32, 7)
  const head = { seq: 17, hash: Buffer.alloc(32, 1) }
  const [text = '', ours = ''] = writeCheckpoint(name, seed, workspaceId, head).split('\n\n')
  const [, theirs = ''] = writeCheckpoint(name, Buffer.alloc(32, 8), workspaceId, head).split('\n\n')
  const witnessed = `${text}\n\n— witness.example AAAA\n${theirs}${ours}`
  assert.ok(readCheckpoint(witnessed, checkpointKeyOf(name, seed)))
  assert.equal(readCheckpoint(`${text}\n\n${theirs}`, checkpointKeyOf(name, seed)), null)
})

test('a verifier key with the wrong key id is rejected', () => {
  const written = writeVerifierKey(checkpointKeyOf(name, Buffer.alloc(32, 7)))
  for (const bad of ['', 'x', written.replace(/\+\w{8}\+/, '+00000000+'), `${written}A`, ` ${written}`]) {
    assert.equal(readVerifierKey(bad), null, bad)
  }
})
