import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import pg from 'pg'
import { startCommand } from '../../../test/command.ts'
import { comparable, contentsOf, freshDatabase, untilUsesAreRecorded } from '../../../test/dump-contents.ts'
import { encryptionKey } from '../../../test/encryption-key.ts'
import { startHarness } from '../../../test/harness.ts'
import { until } from '../../../test/until.ts'
import { issueKey, makeVendor } from '../../../test/vendor.ts'
import type { Connection } from '../../platform/db/connection.ts'
import { makeOwnKey } from '../../platform/db/dump/age.ts'

const source = await startHarness()
await issueKey(source, await makeVendor(source))
await untilUsesAreRecorded(source.connection)
const restored = await contentsOf(source.connection, comparable)

const folder = mkdtempSync(join(tmpdir(), 'keyrail-cli-'))
// Postgres may run as another account, which must be able to enter the folder.
chmodSync(folder, 0o755)
after(() => rmSync(folder, { recursive: true, force: true }))
const file = join(folder, 'first.keyrail')

const start = (where: Connection | string, args: string[], key?: string) => startCommand(args, { where, key })
const run = (where: Connection | string, ...args: string[]) => start(where, args).ended

test('a backup and its restore print a summary, as text and as JSON', async () => {
  const made = await run(source.connection, 'backup', file)
  assert.deepEqual([made.code, made.messages.split('\n').length], [0, 3], made.messages)
  assert.match(
    made.out,
    /^Backed up \d+ rows of \d+ tables to .*first\.keyrail \([\d,]+ bytes, SHA-256 \w{64}\)\.\nThe key of SERVICE_ENCRYPTION_KEY is not in it\. Keep a copy of it, apart from the backup\.\n$/,
  )

  const target = await freshDatabase(true)
  const done = await run(target, 'restore', file)
  assert.equal(done.code, 0, done.messages)
  assert.match(done.out, /^Restored \d+ rows, taken at .*\nRaised the policy version of 1 projects\.\n$/)
  assert.deepEqual(await contentsOf(target, comparable), restored)

  const json = await run(source.connection, 'backup', file, '--force', '--json')
  assert.deepEqual([json.code, json.messages], [0, ''])
  const summary = JSON.parse(json.out)
  assert.equal(summary.file, file)
  assert.equal(summary.tables.api_keys, 1)
  assert.equal(summary.bytes, readFileSync(file).length)
  const again = await run(target, 'restore', file, '--force', '--json')
  assert.deepEqual([again.code, JSON.parse(again.out).projects_raised], [0, 1], again.messages)
})

test('a backup to standard output is the same file, and nothing else is printed there', async () => {
  const made = await run(source.connection, 'backup', '-')
  assert.equal(made.code, 0, made.messages)
  assert.match(made.messages, /Backed up \d+ rows .* to standard output/)
  const copy = join(folder, 'stdout.keyrail')
  writeFileSync(copy, made.bytes)
  const target = await freshDatabase(true)
  assert.equal((await run(target, 'restore', copy)).code, 0)
  assert.deepEqual(await contentsOf(target, comparable), restored)
})

test('a failure prints one sentence without a stack, and exits with 1', async () => {
  const target = await freshDatabase(true)
  const damaged = join(folder, 'damaged.keyrail')
  const bytes = readFileSync(file)
  bytes[100] = (bytes[100] ?? 0) ^ 1
  writeFileSync(damaged, bytes)
  for (const [where, args, message] of [
    [source.connection, ['backup', file], /exists\. Choose another name, or use --force/],
    [source.connection, ['restore', file], /Keyrail is running on this database|it has workspaces/],
    [target, ['restore', damaged], /is damaged: its checksum does not match its bytes/],
    [target, ['backup', join(folder, 'none')], /nothing to back up/],
  ] as const) {
    const { code, out, messages } = await run(where, ...args)
    assert.deepEqual([code, out], [1, ''], messages)
    assert.match(messages, message)
    assert.doesNotMatch(messages, /\n\s+at /)
  }
})

test('a backup that is encrypted for a key is restored with its identity alone', async () => {
  const { identity, recipient } = await makeOwnKey([])
  const key = join(folder, 'backup.key')
  writeFileSync(key, `# created\n${identity}\n`)
  const closed = join(folder, 'closed.keyrail.age')
  const made = await run(source.connection, 'backup', closed, '--recipient', recipient, '--json')
  assert.equal(made.code, 0, made.messages)
  assert.equal(JSON.parse(made.out).bytes, readFileSync(closed).length)
  const target = await freshDatabase(true)
  const without = await run(target, 'restore', closed)
  assert.match(without.messages, /is encrypted\. Give the file with its identity: --identity FILE\n$/)
  const done = await run(target, 'restore', closed, '--identity', key)
  assert.equal(done.code, 0, done.messages)
  assert.deepEqual(await contentsOf(target, comparable), restored)
  const wrong = await run(source.connection, 'backup', join(folder, 'no'), '--recipient', identity)
  assert.deepEqual([wrong.code, wrong.messages.includes(identity)], [1, false])
})

test('a backup moves from an outside database to an embedded one and back', async () => {
  const data = join(folder, 'data')
  const taken = await run(data, 'restore', file)
  assert.equal(taken.code, 0, taken.messages)
  const back = join(folder, 'back.keyrail')
  const made = await run(data, 'backup', back)
  assert.equal(made.code, 0, made.messages)
  const target = await freshDatabase(true)
  assert.equal((await run(target, 'restore', back)).code, 0)
  assert.deepEqual(await contentsOf(target, comparable), restored)
})

test('a restore without the backup’s key works, and names what is lost and what to do', async () => {
  const other = randomBytes(32).toString('base64')
  const lost = ['service_secrets cursor']
  for (const [key, given] of [
    [other, /given is [0-9a-f]{16}/],
    ['', /no encryption key is given/],
  ] as const) {
    const target = await freshDatabase(true)
    const { code, messages } = await start(target, ['restore', file], key).ended
    assert.equal(code, 0, messages)
    assert.match(messages, given)
    assert.match(
      messages,
      /are lost\. The service makes new ones:\n {2}service_secrets cursor: cursors of lists/,
    )
    assert.match(messages, /add it to SERVICE_ENCRYPTION_KEY and restore again with --force/)
    assert.deepEqual(await contentsOf(target, comparable), { ...restored, service_secrets: [] })
    const json = await start(target, ['restore', file, '--force', '--json'], key).ended
    assert.deepEqual(JSON.parse(json.out).secrets_lost, lost)
  }
  const target = await freshDatabase(true)
  const kept = await start(target, ['restore', file, '--json'], `${other},${encryptionKey}`).ended
  assert.deepEqual(JSON.parse(kept.out).secrets_lost, [])
  assert.deepEqual(await contentsOf(target, comparable), restored)
})

test('a backup that is signalled to stop leaves no partial file', async () => {
  const blocker = new pg.Client(source.connection)
  await blocker.connect()
  after(() => blocker.end())
  await blocker.query('begin; lock table workspaces in access exclusive mode')
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    const path = join(folder, signal)
    const { child, ended } = start(source.connection, ['backup', path])
    await until(() => existsSync(`${path}.partial`))
    child.kill(signal)
    assert.equal((await ended).code, 130)
    assert.deepEqual([existsSync(path), existsSync(`${path}.partial`)], [false, false])
  }
  await blocker.query('rollback')
})
