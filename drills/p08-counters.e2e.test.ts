import assert from 'node:assert/strict'
import { test } from 'node:test'
import { faults, runCounterCrashes } from './harness/counter-crashes.ts'

test('a counter keeps allowed requests after killing the service, connections or Postgres', async () => {
  const { broken, figures } = await runCounterCrashes({ cycles: 1 })
  assert.deepEqual(broken, [])
  assert.deepEqual([...figures.keys()], [...faults])
})

test('the drill detects a counter that has lost allowed requests', async () => {
  const { broken } = await runCounterCrashes({ cycles: 1, clients: 2, meddle: 1_000_000 })
  assert.equal(broken.length, faults.length)
})
