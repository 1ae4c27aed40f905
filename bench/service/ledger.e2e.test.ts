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

test('a row and an audit row for each answer pass, and so do those of cut-off requests', () => {
  requireRows(before, after(100), audited)
  requireRows(before, after(104), audited)
})

test('an answer without a row, and a row without a request, fail', () => {
  refuse(before, after(99), audited)
  refuse(before, after(105), audited)
})

test('a missing or surplus audit row and a head that did not move fail', () => {
  refuse(before, after(100, 99), audited)
  refuse(before, after(100, 101), audited)
  refuse(before, after(100, 100, 99), audited)
})

test('without audit, any audit row fails', () => {
  requireRows(before, after(100, 0), { ...audited, audited: false })
  refuse(before, after(100, 1), { ...audited, audited: false })
})
