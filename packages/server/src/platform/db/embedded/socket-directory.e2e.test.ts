import assert from 'node:assert/strict'
import { chmodSync, existsSync, mkdtempSync, rmSync, statSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { FAST_PLACE } from '../../../../test/embedded-service.ts'
import { findAccount } from './account.ts'
import { fitsSocket, makeSocketDirectory, removeSocketDirectory } from './socket-directory.ts'

const account = findAccount()
let temp: string
let long: string
before(() => {
  temp = mkdtempSync(join(FAST_PLACE, 'keyrail-test-'))
  long = join(temp, 'long'.repeat(30))
})
after(() => rmSync(temp, { recursive: true, force: true }))

test('a path’s length counts in bytes, and the limit leaves room for the socket’s name', () => {
  assert.equal(fitsSocket(`/${'x'.repeat(87)}`), true)
  assert.equal(fitsSocket(`/${'x'.repeat(88)}`), false)
  assert.equal(fitsSocket(`/${'ü'.repeat(44)}`), false)
})

test('a short path is used, and closed to everyone but the account', () => {
  const directory = makeSocketDirectory(join(temp, 'socket'), account)
  const { mode, uid } = statSync(directory)
  assert.deepEqual([directory, mode & 0o777, uid], [join(temp, 'socket'), 0o700, account.uid])
  chmodSync(directory, 0o777)
  makeSocketDirectory(directory, account)
  assert.equal(statSync(directory).mode & 0o777, 0o700)
})

test('a long path gets a new name in a short place, kept while it is ours alone', () => {
  const first = makeSocketDirectory(long, account)
  const second = makeSocketDirectory(long, account)
  assert.notEqual(first, second)
  assert.equal(makeSocketDirectory(long, account, { last: first }), first)

  chmodSync(first, 0o755)
  const third = makeSocketDirectory(long, account, { last: first })
  assert.notEqual(third, first)

  const planted = `${second}x`
  symlinkSync(second, planted)
  const fourth = makeSocketDirectory(long, account, { last: planted })
  assert.notEqual(fourth, planted)

  rmSync(planted)
  for (const directory of [first, second, third, fourth]) removeSocketDirectory(directory)
  assert.deepEqual([first, second, third, fourth].filter(existsSync), [])
})

test('guests can reach the socket, but neither see nor change anything else there', () => {
  const directory = makeSocketDirectory(join(temp, 'guests'), account, { guests: process.getegid?.() })
  assert.equal(statSync(directory).mode & 0o777, 0o710)
})

test('a directory beside the data is left there', () => {
  const directory = makeSocketDirectory(join(temp, 'kept'), account)
  removeSocketDirectory(directory)
  assert.equal(existsSync(directory), true)
})
