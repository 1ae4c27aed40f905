import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BenchFault } from '../harness/bench.ts'
import { requireRows } from './ledger.ts'

const before = { created: 10, auditRows: 30, headSeqs: 30 }
const after = (rows: number, auditRows = rows, heads = auditRows) => ({
  created: 10 + rows,
  auditRows: 30 + auditRows,
  headSeqs: 30 + heads,
})
const audited = { answered: 100, cutOff: 4, audited: true }
const refuse = (...args: Parameters<typeof requireRows>) =>
  assert.throws(() => requireRows(...args), BenchFault)

test('a row and an audit row for each answer pass, and so do those of requests that were cut off', () => {
  requireRows(before, after(100), audited)
  requireRows(before, after(104), audited)
})

test('an answer without its row, and a row that nobody asked for, are refused', () => {
  refuse(before, after(99), audited)
  refuse(before, after(105), audited)
})

test('a row without its audit row, one audit row too many and a head that did not move are refused', () => {
  refuse(before, after(100, 99), audited)
  refuse(before, after(100, 101), audited)
  refuse(before, after(100, 100, 99), audited)
})

test('without audit there must be none', () => {
  requireRows(before, after(100, 0), { ...audited, audited: false })
  refuse(before, after(100, 1), { ...audited, audited: false })
})
