import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { freshDatabase, freshPath } from '../../../../test/dump-contents.ts'
import { restore } from '../../../restore.ts'
import { backup } from './backup.ts'
import { DumpRefused } from './refused.ts'

const source = await freshDatabase(false)

test('only the owner can read a backup, and its summary is right', async () => {
  const path = freshPath()
  const umask = process.umask(0)
  const { bytes, sha256 } = await backup(source, path).finally(() => process.umask(umask))
  const stat = statSync(path)
  assert.equal(stat.mode & 0o777, 0o600)
  assert.equal(stat.size, bytes)
  assert.equal(createHash('sha256').update(readFileSync(path)).digest('hex'), sha256)
  assert.equal(statSync(`${path}.partial`, { throwIfNoEntry: false }), undefined)
})

test('an existing file is kept, or replaced by a private one with --force', async () => {
  const path = freshPath()
  writeFileSync(path, 'mine', { mode: 0o644 })
  await assert.rejects(backup(source, path), /exists\. Choose another name, or use --force/)
  assert.equal(readFileSync(path, 'utf8'), 'mine')
  await backup(source, path, { force: true })
  assert.equal(statSync(path).mode & 0o777, 0o600)
  await restore(await freshDatabase(true), path)
})

test('a partial file of another backup is kept, unless --force is given', async () => {
  const path = freshPath()
  writeFileSync(`${path}.partial`, 'of another')
  await assert.rejects(backup(source, path), /another backup to this file is running, or one was killed/)
  assert.equal(readFileSync(`${path}.partial`, 'utf8'), 'of another')
  await backup(source, path, { force: true })
  await restore(await freshDatabase(true), path)
})

test('a backup never replaces a directory or a device, and reports a missing directory', async () => {
  const directory = freshPath()
  mkdirSync(directory)
  for (const path of [directory, '/dev/null']) {
    await assert.rejects(backup(source, path, { force: true }), /is not a file/)
  }
  const nowhere = join(freshPath(), 'file')
  await assert.rejects(backup(source, nowhere), /The directory .* does not exist/)
})

test('a database without a schema is not backed up, and leaves no file', async () => {
  const path = freshPath()
  const error = await backup(await freshDatabase(true), path).catch(refusal => refusal)
  assert.ok(error instanceof DumpRefused)
  assert.match(error.message, /nothing to back up/)
  for (const name of [path, `${path}.partial`]) {
    assert.equal(statSync(name, { throwIfNoEntry: false }), undefined)
  }
})
