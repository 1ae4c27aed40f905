import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startKeyrail } from '../../test/service.ts'
import { createIdempotency } from './idempotent.ts'

const { service, valid, patient } = await startKeyrail()
const { claim } = createIdempotency(patient)

test('Retry-After is the rest of the first request’s lock, in whole seconds, at least 1', async () => {
  const key = await valid()
  const request = { key, idempotencyKey: 'once', method: 'POST', target: '/payments', body: '{}' }
  const begun = Date.parse('2030-01-01T00:00:00Z')
  const after = (ms: number) => service.setStoreTime(new Date(begun + ms))
  await after(0)
  const first = await claim(request)
  assert.ok(first.verdict === 'execute')
  for (const [passedMs, left] of [
    [0, '30'],
    [12_300, '18'],
    [29_900, '1'],
  ] as const) {
    await after(passedMs)
    const again = await claim(request)
    assert.ok(again.verdict === 'refuse')
    const { status, body, headers } = again.problem
    assert.deepEqual([status, body.code, headers['retry-after']], [409, 'idempotency_in_progress', left])
  }
  await first.claim.release()
})
