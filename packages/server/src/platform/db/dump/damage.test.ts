import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { test } from 'node:test'
import { gunzipSync, gzipSync } from 'node:zlib'
import { contentsOf, freshDatabase, freshPath, tablesOf } from '../../../../test/dump-contents.ts'
import { startHarness } from '../../../../test/harness.ts'
import { issueKey, makeVendor } from '../../../../test/vendor.ts'
import { restore } from '../../../restore.ts'
import { backup } from './backup.ts'
import { DumpRefused } from './refused.ts'
import { makeSeal, sealLength } from './seal.ts'

const harness = await startHarness()
await issueKey(harness, await makeVendor(harness))
const original = freshPath()
await backup(harness.connection, original)
const whole = readFileSync(original)
const damaged = freshPath()
const empty = await freshDatabase(false)

/** Nothing listens there: a restore that asked the database would fail with another error. */
const nowhere = { host: '/nonexistent', port: 1 }

const refused = async (bytes: Buffer, what: string, connection = nowhere) => {
  writeFileSync(damaged, bytes)
  const error = await restore(connection, damaged).then(
    () => assert.fail(`${what}: restored`),
    (error: unknown) => error,
  )
  assert.ok(error instanceof DumpRefused, `${what}: ${error}`)
  return error.message
}

test('a flipped bit in any byte is detected before the database is used', async () => {
  for (let at = 0; at < whole.length; at++) {
    const bytes = Buffer.from(whole)
    bytes[at] = (bytes[at] ?? 0) ^ (1 << (at % 8))
    await refused(bytes, `byte ${at} of ${whole.length}`)
  }
})

test('a file cut at any length is detected before the database is used', async () => {
  for (let length = 0; length < whole.length; length++) {
    await refused(whole.subarray(0, length), `cut at ${length}`)
  }
})

test('a file with anything before or after it, or twice, is refused', async () => {
  await refused(Buffer.concat([whole, Buffer.from('\n')]), 'a byte more')
  await refused(Buffer.concat([Buffer.from('\n'), whole]), 'a byte before')
  await refused(Buffer.concat([whole, whole]), 'twice')
})

test('a file that is not a backup is refused with the reason', async () => {
  assert.match(await refused(Buffer.from('select 1;\n'.repeat(99)), 'text'), /is not a Keyrail backup/)
  assert.match(await refused(gzipSync('select 1;'.repeat(999)), 'gzip'), /is not a Keyrail backup/)
  const packed = gzipSync('select 1;\n')
  const sealed = Buffer.concat([packed, makeSeal(createHash('sha256').update(packed).digest())])
  assert.match(await refused(sealed, 'sealed'), /is not a Keyrail backup/)
  const directory = freshPath()
  mkdirSync(directory)
  await assert.rejects(restore(nowhere, directory), /is not a file/)
  await assert.rejects(restore(nowhere, freshPath()), /cannot be read: ENOENT/)
})

test('damage with a new seal is refused too, and the database stays unchanged', async () => {
  const text = gunzipSync(whole).toString()
  const before = [await tablesOf(empty), await contentsOf(empty)]
  for (const [what, changed, message] of [
    ['a later format', text.replace('"format":1', '"format":2'), /of format 2/],
    ['a table with other rows', text.replace(/^(copy public."tenants".*\n).*\n/m, '$1'), /0 of 1 rows/],
    [
      'sections in another order',
      text.replace('copy public."tenants"', 'copy public."projects"'),
      /does not continue/,
    ],
    ['a row that breaks a constraint', text.replace('\tlive\t', '\tdead\t'), /could not be loaded: .*_env/],
    ['a last section that is missing', text.slice(0, text.lastIndexOf('copy public.')), /ends before/],
    ['more after the last section', `${text}x`, /continues after/],
  ] as const) {
    assert.notEqual(changed, text, what)
    const packed = gzipSync(changed)
    writeFileSync(damaged, Buffer.concat([packed, makeSeal(createHash('sha256').update(packed).digest())]))
    await assert.rejects(restore(empty, damaged), (error: Error) => {
      assert.match(`${error.message}: ${(error.cause as Error | undefined)?.message}`, message, what)
      return true
    })
    assert.deepEqual([await tablesOf(empty), await contentsOf(empty)], before, what)
  }
})

test('a backup is an ordinary gzip file, and its checksum can be verified by hand', () => {
  assert.match(
    gunzipSync(whole).toString(),
    /^-- keyrail backup \{.*\}\n(copy [^\n]+;\n(?:[^\n]+\n)*\\\.\n)+$/s,
  )
  const digest = createHash('sha256').update(whole.subarray(0, -sealLength)).digest()
  assert.deepEqual(whole.subarray(-42, -10), digest)
})
