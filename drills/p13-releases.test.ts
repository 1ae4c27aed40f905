import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runReleases } from './harness/releases.ts'

test('an old client at this service and this client at an old service hold every key that may be used, or are refused', async () => {
  const { counts, broken } = await runReleases({ cycles: 8, seed: Date.now() % 1_000_000 })
  assert.deepEqual(broken, [])
  for (const name of ['old client, new service: right', 'new client, old service: right'])
    assert.ok((counts.get(name) ?? 0) > 20, `${name}: ${counts.get(name)}`)
})
