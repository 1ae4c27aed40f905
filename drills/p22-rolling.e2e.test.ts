import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runRolling } from './harness/rolling-run.ts'

test('three processes restart one by one, and no request fails behind nginx or HAProxy', async () => {
  const { proxies, restarts, broken } = await runRolling({ cycles: 1 })
  assert.deepEqual(broken, [])
  assert.equal(restarts, 3)
  assert.deepEqual(
    proxies.map(({ name }) => name),
    ['nginx', 'haproxy'],
  )
  for (const { counts, acknowledged } of proxies)
    assert.ok(Math.min(...Object.values(counts), acknowledged) > 0, JSON.stringify(counts))
})
