import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parsePgbench } from './pgbench.ts'

const REPORT = `transaction type: /tmp/script.sql
scaling factor: 1
query mode: prepared
number of clients: 2
number of threads: 2
maximum number of tries: 1
duration: 1 s
number of transactions actually processed: 12345
number of failed transactions: 0 (0.000%)
latency average = 0.162 ms
initial connection time = 4.402 ms
tps = 12377.661573 (without initial connection time)
`

test('the report contains rate, count and latency', () => {
  assert.deepEqual(parsePgbench(REPORT), { tps: 12_377.661573, transactions: 12_345, latencyMs: 0.162 })
})

test('a report without a rate, or with failed transactions, is a fault', () => {
  assert.throws(() => parsePgbench('pgbench: error'), /reported no rate/)
  assert.throws(
    () => parsePgbench(REPORT.replace('failed transactions: 0', 'failed transactions: 3')),
    /3 trans/,
  )
})
