import assert from 'node:assert/strict'
import { test } from 'node:test'
import { connectionsOf } from '../packages/server/src/platform/db/pool/connection-need.ts'
import { figuresMissing, readDocument, section, tableOf } from './documents.ts'

const capacity = section(readDocument('docs/scaling.md'), 'Capacity')
const measured = section(readDocument('docs/performance.md'), 'What safety costs')
const numberOf = (text: string) => Number(text.replaceAll(',', ''))

test('capacity is computed from CPU times that the page on performance holds', () => {
  const rows = tableOf(capacity)
  assert.ok(rows.length >= 4)
  for (const [request = '', service = '', postgres = '', ofService = '', ofPostgres = ''] of rows) {
    assert.match(measured, new RegExp(`service ${service} us [^|]*Postgres ${postgres} us`), request)
    for (const [us, rate] of [
      [service, ofService],
      [postgres, ofPostgres],
    ] as const)
      assert.equal(numberOf(rate), Number((1_000_000 / numberOf(us)).toPrecision(3)), request)
  }
})

test('the other figures of capacity are those of their pages', () => {
  const performance = readDocument('docs/performance.md')
  for (const figure of ['p99 36.4 ms', '+175 MiB']) assert.ok(performance.includes(figure), figure)
  assert.deepEqual(figuresMissing(readDocument('docs/operations.md'), ['300 MiB']), [])
  assert.deepEqual(figuresMissing(capacity, ['300 MiB', `${connectionsOf(0)}`]), [])
})
