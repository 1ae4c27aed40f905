import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parsePostmasterFile } from './postmaster-file.ts'

const READY =
  '4711\n/data/postgres/18\n1763700000\n5432\n/data/postgres/socket\n\n  1234567    65538\nready   \n'

test('a complete file gives pid, socket and status', () => {
  assert.deepEqual(parsePostmasterFile(READY), {
    pid: 4711,
    port: 5432,
    socketDirectory: '/data/postgres/socket',
    status: 'ready',
  })
})

test('an incomplete file means that the server is starting', () => {
  assert.equal(parsePostmasterFile(READY.split('\n').slice(0, 5).join('\n'))?.status, 'starting')
})

test('a single-user server has a negative pid', () => {
  assert.equal(parsePostmasterFile('-4711\n/data\n')?.pid, 4711)
})

test('a file cut off by a full disk is no postmaster', () => {
  assert.equal(parsePostmasterFile(''), undefined)
  assert.equal(parsePostmasterFile('garbage\n'), undefined)
})
