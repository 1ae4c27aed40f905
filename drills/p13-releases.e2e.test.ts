import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runReleases } from './harness/releases.ts'

test('clients and services of different releases agree on every readable key, or refuse', async () => {
  const { counts, broken } = await runReleases({ cycles: 8, seed: Date.now() % 1_000_000 })
  assert.deepEqual(broken, [])
  for (const name of ['old client, new service: right', 'new client, old service: right'])
    assert.ok((counts.get(name) ?? 0) > 20, `${name}: ${counts.get(name)}`)
  for (const name of [
    'sent: a change of an unknown kind',
    'sent: a key with an unknown algorithm',
    'sent: a key with an unreadable member',
    'sent: a key of an unknown environment',
    'sent: the end of a key with an unknown cause',
    'new client, newer service: right',
    'new client, newer service: refused and reported once',
    'new client, newer service: a refused key works again',
  ])
    assert.ok((counts.get(name) ?? 0) > 0, `${name}: ${counts.get(name)}`)
})
