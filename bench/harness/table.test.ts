import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { formatNumber, formatShare, formatTable } from './table.ts'

test('columns line up, numbers to the right, without trailing spaces', () => {
  assert.equal(
    formatTable(
      ['arm', 'requests/s'],
      [
        ['keyrail', '9'],
        ['bare', '12,000'],
      ],
      ['left', 'right'],
    ),
    ['arm      requests/s', '-------  ----------', 'keyrail           9', 'bare         12,000'].join('\n'),
  )
})

test('a row with another length than the heading is refused', () => {
  assert.throws(() => formatTable(['a', 'b'], [['1']]), /1 cells/)
})

test('every cell starts at the same place in its line, for any length', () => {
  const cell = fc.stringMatching(/^[a-z]{1,12}$/)
  fc.assert(
    fc.property(fc.array(fc.tuple(cell, cell, cell), { maxLength: 8 }), rows => {
      const [, rule = '', ...lines] = formatTable(['x', 'y', 'z'], rows).split('\n')
      const starts = [...rule.matchAll(/-+/g)].map(match => match.index)
      for (const [index, line] of lines.entries()) {
        assert.deepEqual(
          starts.map(start => line.slice(start).split(' ', 1)[0]),
          rows[index],
        )
      }
    }),
  )
})

test('figures are short: three digits, or whole numbers from a hundred on', () => {
  assert.equal(formatNumber(0.123456), '0.123')
  assert.equal(formatNumber(99.95), '100')
  assert.equal(formatNumber(12_345.6), '12,346')
  assert.equal(formatNumber(-1234), '-1,234')
  assert.equal(formatNumber(0), '0')
  assert.equal(formatNumber(Number.NaN), 'NaN')
  assert.equal(formatShare(0.1534), '15.3 %')
  assert.equal(formatShare(Number.POSITIVE_INFINITY), 'unbounded')
})
