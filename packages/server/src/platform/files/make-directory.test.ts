import assert from 'node:assert/strict'
import { mkdtempSync, realpathSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { makeDirectories } from './make-directory.ts'

const temp = realpathSync(mkdtempSync(join(tmpdir(), 'keyrail-test-')))
after(() => rmSync(temp, { recursive: true, force: true }))

test('missing directories are made, and the uppermost is returned', () => {
  const path = join(temp, 'a', 'b', 'c')
  assert.equal(makeDirectories(path, 0o700), join(temp, 'a'))
  for (const made of [path, join(temp, 'a')]) assert.equal(statSync(made).mode & 0o777, 0o700)
  assert.equal(makeDirectories(path, 0o700), undefined)
  assert.equal(makeDirectories(join(path, 'd'), 0o700), join(path, 'd'))
})

test('a link to a directory counts as one', () => {
  symlinkSync(temp, join(temp, 'link'))
  assert.equal(makeDirectories(join(temp, 'link'), 0o700), undefined)
})

test('a file, a dangling link or an unusable place is an error and no endless loop', () => {
  writeFileSync(join(temp, 'file'), '')
  symlinkSync(join(temp, 'nowhere'), join(temp, 'dangling'))
  for (const [path, code] of [
    [join(temp, 'file'), 'EEXIST'],
    [join(temp, 'file', 'below'), 'ENOTDIR'],
    [join(temp, 'dangling'), 'ENOENT'],
    ['/proc/keyrail', 'ENOENT'],
    ['/proc/keyrail/below', 'ENOENT'],
  ] as const) {
    assert.throws(() => makeDirectories(path, 0o700), { code }, path)
  }
})
