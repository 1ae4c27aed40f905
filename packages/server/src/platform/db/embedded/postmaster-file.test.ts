import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parsePostmasterFile } from './postmaster-file.ts'

const READY =
  '4711\n/data/postgres/18\n1763700000\n5432\n/data/postgres/socket\n\n  1234567    65538\nready   \n'

test('a whole file gives pid, socket and status', () => {
  assert.deepEqual(parsePostmasterFile(READY), {
    pid: 4711,
    port: 5432,
    socketDirectory: '/data/postgres/socket',
    status: 'ready',
  })
})

test('one that is being written says that the server starts', () => {
  assert.equal(parsePostmasterFile(READY.split('\n').slice(0, 5).join('\n'))?.status, 'starting')
})

test('a single-user server has its pid negated', () => {
  assert.equal(parsePostmasterFile('-4711\n/data\n')?.pid, 4711)
})

test('what a full disk cut short is no postmaster', () => {
  assert.equal(parsePostmasterFile(''), undefined)
  assert.equal(parsePostmasterFile('garbage\n'), undefined)
})
