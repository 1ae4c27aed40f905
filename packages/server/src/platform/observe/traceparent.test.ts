import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readTraceParent } from './traceparent.ts'

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736'
const spanId = '00f067aa0ba902b7'

test('a trace context is read with its flag, also one of a later version', () => {
  for (const [header, isSampled] of [
    [`00-${traceId}-${spanId}-01`, true],
    [`00-${traceId}-${spanId}-00`, false],
    [`cc-${traceId}-${spanId}-03`, true],
    [`cc-${traceId}-${spanId}-02-what-the-future-holds`, false],
  ] as const)
    assert.deepEqual(readTraceParent(header), { traceId, spanId, isSampled }, header)
})

test('anything else is ignored', () => {
  for (const header of [
    undefined,
    '',
    ['00'],
    `00-${traceId}-${spanId}`,
    `00-${traceId}-${spanId}-01-more`,
    `ff-${traceId}-${spanId}-01`,
    `00-${traceId.toUpperCase()}-${spanId}-01`,
    `00-${'0'.repeat(32)}-${spanId}-01`,
    `00-${traceId}-${'0'.repeat(16)}-01`,
    `00-${traceId}-${spanId}-01, 00-${traceId}-${spanId}-01`,
    `00-${traceId}-${spanId}-0g`,
    ` 00-${traceId}-${spanId}-01`,
    `cc-${traceId}-${spanId}-01-${'x'.repeat(600)}`,
  ])
    assert.equal(readTraceParent(header), null, String(header))
})
