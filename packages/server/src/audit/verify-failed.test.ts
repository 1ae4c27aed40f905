import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startHarness } from '../../test/harness.ts'
import { makeVendor } from '../../test/vendor.ts'
import { createDeriveChain } from './verify.ts'

const harness = await startHarness()

test('a verification that fails at once is run again by the next request', async () => {
  const { workspaceId } = await makeVendor(harness)
  const connection: Record<string, unknown> = { ...harness.connection }
  const derive = createDeriveChain(connection)
  // What cannot be sent to a thread fails as a thread does that the system refuses: before anything is awaited.
  const { port } = connection
  connection.port = () => port
  await assert.rejects(derive(workspaceId), { code: 'unavailable' })
  connection.port = port
  assert.equal((await derive(workspaceId)).valid, true)
})
