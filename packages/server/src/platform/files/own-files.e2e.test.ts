import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { openOwnLog, readOwnFile, refuseUnsafeDirectory, replaceOwnFile, UnsafePath } from './own-files.ts'

const temp = realpathSync(mkdtempSync(join(tmpdir(), 'keyrail-own-')))
after(() => rmSync(temp, { recursive: true, force: true }))
const at = (name: string) => join(temp, name)
const isRoot = process.geteuid?.() === 0
const refused = (message: RegExp) => (error: unknown) =>
  error instanceof UnsafePath && message.test(error.message)

test('a directory that only this account can write to is accepted, and so is a missing one', () => {
  mkdirSync(at('ours'), { mode: 0o755 })
  refuseUnsafeDirectory(at('ours'), 'SERVICE_DATA_DIR')
  refuseUnsafeDirectory(at('missing'), 'SERVICE_DATA_DIR')
})

test('a link, a file, and a directory that others can write to are refused with what to do', () => {
  mkdirSync(at('target'), { mode: 0o755 })
  symlinkSync(at('target'), at('link'))
  symlinkSync(at('nowhere'), at('dangling'))
  writeFileSync(at('file'), '')
  for (const mode of [0o775, 0o757, 0o1777]) {
    mkdirSync(at(`open-${mode}`))
    chmodSync(at(`open-${mode}`), mode)
    const check = () => refuseUnsafeDirectory(at(`open-${mode}`), 'SERVICE_DATA_DIR')
    assert.throws(check, refused(/Others may write to .* chmod go-w/))
  }
  const cases: [string, RegExp][] = [
    ['link', new RegExp(`symbolic link.* Set SERVICE_DATA_DIR to the directory itself, ${at('target')}`)],
    ['dangling', /symbolic link/],
    ['file', /is not a directory/],
  ]
  for (const [name, message] of cases) {
    assert.throws(() => refuseUnsafeDirectory(at(name), 'SERVICE_DATA_DIR'), refused(message), name)
  }
})

if (isRoot) {
  test('another user’s directory is refused with both ids, unless its owner is known', () => {
    mkdirSync(at('foreign'), { mode: 0o755 })
    chownSync(at('foreign'), 65_534, 65_534)
    const check = (...owners: number[]) => refuseUnsafeDirectory(at('foreign'), 'SERVICE_DATA_DIR', owners)
    assert.throws(() => check(), refused(/belongs to user id 65534, and Keyrail runs as user id 0/))
    check(65_534)
  })
}

test('a file is read if it is ours; a link, a pipe or one that others can write is not', () => {
  writeFileSync(at('secret'), 'hush\n', { mode: 0o600 })
  symlinkSync(at('secret'), at('secret-link'))
  execFileSync('mkfifo', [at('pipe')])
  writeFileSync(at('shared'), 'hush')
  chmodSync(at('shared'), 0o620)
  assert.equal(readOwnFile(at('secret')), 'hush\n')
  assert.equal(readOwnFile(at('none')), undefined)
  assert.throws(() => readOwnFile(at('secret-link')), refused(/symbolic link, which is not followed/))
  assert.throws(() => readOwnFile(at('pipe')), refused(/is not a file/))
  assert.throws(() => readOwnFile(at('shared')), refused(/Others may write to/))
})

test('a file replaces a link, never writes through it, and leaves no draft', () => {
  writeFileSync(at('victim'), 'untouched')
  mkdirSync(at('place'))
  symlinkSync(at('victim'), join(at('place'), 'token'))
  const umask = process.umask(0o077)
  replaceOwnFile(join(at('place'), 'token'), 'new')
  replaceOwnFile(join(at('place'), 'public'), 'new', 0o644)
  process.umask(umask)
  assert.equal(readFileSync(at('victim'), 'utf8'), 'untouched')
  assert.equal(readFileSync(join(at('place'), 'token'), 'utf8'), 'new')
  assert.equal(statSync(join(at('place'), 'token')).mode & 0o777, 0o600)
  assert.equal(statSync(join(at('place'), 'public')).mode & 0o777, 0o644)
  assert.deepEqual(readdirSync(at('place')).sort(), ['public', 'token'])
})

test('a log is not written through a link', () => {
  symlinkSync(at('elsewhere'), at('log-link'))
  assert.throws(() => openOwnLog(at('log-link')), refused(/symbolic link/))
  assert.equal(existsSync(at('elsewhere')), false)
})
