import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import type { ServerResponse } from 'node:http'
import { test } from 'node:test'
import { startHarness } from '../../test/harness.ts'
import { makeVendor } from '../../test/vendor.ts'
import { largeBytesMax, mediumBytesMax } from '../platform/http/body/large-bodies.ts'

const harness = await startHarness()

test('an export that gets no memory releases its place at once', async () => {
  const { live } = await makeVendor(harness)
  const ask = () => harness.ask('GET', '/v1/audit_logs/export', { token: live })
  const others = new EventEmitter() as unknown as ServerResponse
  harness.deps.largeBodies.holdSent(others, 'x'.repeat(largeBytesMax + mediumBytesMax), false)
  const refused = await ask()
  assert.deepEqual([refused.status, refused.body.code], [503, 'unavailable'])
  others.emit('close')
  assert.equal((await ask()).status, 200)
})
