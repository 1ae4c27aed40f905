import assert from 'node:assert/strict'
import { chmodSync, existsSync, mkdtempSync, rmSync, statSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { findAccount } from './account.ts'
import { fitsSocket, makeSocketDirectory, removeSocketDirectory } from './socket-directory.ts'
import { FAST_PLACE } from './test-service.ts'

const account = findAccount()
let temp: string
let long: string
before(() => {
  temp = mkdtempSync(join(FAST_PLACE, 'keyrail-test-'))
  long = join(temp, 'long'.repeat(30))
})
after(() => rmSync(temp, { recursive: true, force: true }))

test('a path counts in bytes, and the limit leaves room for the name of the socket', () => {
  assert.equal(fitsSocket(`/${'x'.repeat(87)}`), true)
  assert.equal(fitsSocket(`/${'x'.repeat(88)}`), false)
  assert.equal(fitsSocket(`/${'ü'.repeat(44)}`), false)
})

test('a short path is taken, and closed to all but the account', () => {
  const directory = makeSocketDirectory(join(temp, 'socket'), account)
  const { mode, uid } = statSync(directory)
  assert.deepEqual([directory, mode & 0o777, uid], [join(temp, 'socket'), 0o700, account.uid])
  chmodSync(directory, 0o777)
  makeSocketDirectory(directory, account)
  assert.equal(statSync(directory).mode & 0o777, 0o700)
})

test('for a long one a new name in a short place, which is kept as long as it is ours alone', () => {
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

test('guests may pass through to the socket, and neither see nor change what lies beside it', () => {
  const directory = makeSocketDirectory(join(temp, 'guests'), account, { guests: process.getegid?.() })
  assert.equal(statSync(directory).mode & 0o777, 0o710)
})

test('one that lies with the data is left there', () => {
  const directory = makeSocketDirectory(join(temp, 'kept'), account)
  removeSocketDirectory(directory)
  assert.equal(existsSync(directory), true)
})
