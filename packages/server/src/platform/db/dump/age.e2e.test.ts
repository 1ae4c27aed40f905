import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { test } from 'node:test'
import { comparable, contentsOf, freshDatabase, freshPath } from '../../../../test/dump-contents.ts'
import { startHarness } from '../../../../test/harness.ts'
import { issueKey, makeVendor } from '../../../../test/vendor.ts'
import { restore } from '../../../restore.ts'
import { makeOwnKey, readIdentities } from './age.ts'
import { backup } from './backup.ts'
import { DumpRefused } from './refused.ts'

const source = await startHarness()
await issueKey(source, await makeVendor(source))
const [ours, theirs] = [await makeOwnKey([]), await makeOwnKey([])]
const encrypted = freshPath()
const { bytes, sha256 } = await backup(source.connection, encrypted, {
  recipients: [theirs.recipient, ours.recipient],
})
const whole = readFileSync(encrypted)

/** Nothing listens there: a restore that asked the database would fail with another error. */
const nowhere = { host: '/nonexistent', port: 1 }
const refusal = async (path: string, identities: readonly string[]) => {
  const error = await restore(nowhere, path, { identities }).catch((error: unknown) => error)
  assert.ok(error instanceof DumpRefused, String(error))
  return error.message
}

function age(args: string[], input?: Buffer): Buffer {
  const { status, stdout, stderr, error } = spawnSync('age', args, { input, maxBuffer: 2 ** 28 })
  assert.equal(error, undefined, 'age is missing; install the package age')
  assert.equal(status, 0, String(stderr))
  return stdout
}

test('an encrypted backup is restored with the identity of any of its recipients', async () => {
  assert.equal(statSync(encrypted).size, bytes)
  assert.equal(createHash('sha256').update(whole).digest('hex'), sha256)
  for (const { identity } of [ours, theirs]) {
    const target = await freshDatabase(true)
    await restore(target, encrypted, { identities: [identity] })
    assert.deepEqual(await contentsOf(target, comparable), await contentsOf(source.connection, comparable))
  }
})

test('the program age opens it, and what age encrypts is restored', async () => {
  const identity = freshPath()
  writeFileSync(identity, `# a comment\n${theirs.identity}\n`)
  const plain = freshPath()
  writeFileSync(plain, age(['--decrypt', '--identity', identity, encrypted]))
  await restore(await freshDatabase(true), plain)
  const again = freshPath()
  writeFileSync(again, age(['--recipient', ours.recipient], readFileSync(plain)))
  await restore(await freshDatabase(true), again, { identities: [ours.identity] })
})

test('without the identity, or with another one, it is refused with what to do', async () => {
  assert.match(
    await refusal(encrypted, []),
    /is encrypted\. Give the file with its identity: --identity FILE/,
  )
  const other = await makeOwnKey([])
  assert.match(await refusal(encrypted, [other.identity]), /none of the given identities opens it/)
})

test('an encrypted file that is cut, changed or longer is refused before the database is used', async () => {
  const damaged = freshPath()
  const tries = async (changed: Buffer, what: string) => {
    writeFileSync(damaged, changed)
    assert.doesNotMatch(await refusal(damaged, [ours.identity]), /nonexistent/, what)
  }
  // Decryption takes a millisecond or two, so these are some of the bytes; another run tries no others.
  for (let at = 0; at < whole.length; at += 1 + (whole.length >> 8)) {
    const changed = Buffer.from(whole)
    changed[at] = (changed[at] ?? 0) ^ (1 << (at % 8))
    await tries(changed, `byte ${at}`)
    await tries(whole.subarray(0, at), `cut at ${at}`)
  }
  await tries(Buffer.concat([whole, Buffer.from('\n')]), 'a byte more')
})

test('post-quantum recipients work, and the key of the file is then one too', async () => {
  const hybrid = await makeOwnKey(['age1pq1'])
  assert.match(hybrid.recipient, /^age1pq1/)
  const own = await makeOwnKey([hybrid.recipient])
  const path = freshPath()
  await backup(source.connection, path, { recipients: [hybrid.recipient, own.recipient] })
  await restore(await freshDatabase(true), path, { identities: [hybrid.identity] })
})

test('an invalid recipient is refused, and a secret given by mistake is not repeated', async () => {
  const path = freshPath()
  const attempt = (recipient: string) => backup(source.connection, path, { recipients: [recipient] })
  await assert.rejects(attempt('age1nobody'), /"age1nobody" is not a recipient of age/)
  await assert.rejects(attempt(ours.identity), (error: Error) => {
    assert.match(error.message, /is an identity, which must stay secret/)
    return !error.message.includes(ours.identity.slice(20))
  })
  assert.equal(statSync(path, { throwIfNoEntry: false }), undefined)
})

test('a file without an identity is refused, and nothing of it is repeated', async () => {
  const path = freshPath()
  for (const [text, message] of [
    ['', /has no identity of age/],
    ['# only a comment\n', /has no identity of age/],
    ['top secret\n', /has no identity of age/],
    ['age-encryption.org/v1\n', /is an encrypted identity\. Decrypt it first: age --decrypt/],
  ] as const) {
    writeFileSync(path, text)
    await assert.rejects(readIdentities(path), (error: Error) => {
      assert.match(error.message, message)
      return !error.message.includes('top secret')
    })
  }
  await assert.rejects(readIdentities(freshPath()), /cannot be read: ENOENT/)
  writeFileSync(path, `${ours.identity}\r\n\n# two\n${theirs.identity}`)
  assert.deepEqual(await readIdentities(path), [ours.identity, theirs.identity])
})
