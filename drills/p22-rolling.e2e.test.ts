import assert from 'node:assert/strict'
import { test } from 'node:test'
import { connectionsOf } from '../packages/server/src/platform/db/pool/connection-need.ts'
import { settings } from '../packages/server/src/settings.ts'
import { runRolling } from './harness/rolling-run.ts'

test('three processes restart one by one, and no request fails behind nginx or HAProxy', async () => {
  const { proxies, restarts, connections, broken } = await runRolling({ cycles: 1 })
  assert.deepEqual(broken, [])
  assert.equal(restarts, 3)
  const most = 3 * connectionsOf(Number(settings.SERVICE_DATABASE_POOL.default))
  assert.ok(connections > 0 && connections <= most, `${connections} connections`)
  assert.deepEqual(
    proxies.map(({ name }) => name),
    ['nginx', 'haproxy'],
  )
  for (const { counts, acknowledged } of proxies)
    assert.ok(Math.min(...Object.values(counts), acknowledged) > 0, JSON.stringify(counts))
})
