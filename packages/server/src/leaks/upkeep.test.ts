import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startHarness } from '../../test/harness.ts'
import { leakOnce, makeVendor } from '../../test/vendor.ts'
import { doChores } from '../platform/db/upkeep.ts'
import { pruneLeaks } from './upkeep.ts'

const harness = await startHarness()

test('the place of a leak is deleted after thirty days and stays in the audit log', async () => {
  const vendor = await makeVendor(harness)
  await leakOnce(harness, vendor)
  await leakOnce(harness, vendor)
  const now = new Date('2027-03-31T12:00:00.000Z')
  await harness.setStoreTime(now)
  const daysAgo = (days: number, ms = 0) => new Date(now.getTime() - days * 86_400_000 - ms)
  const [old, young] = await harness.query('select credential_id as id from leak_reports')
  for (const [{ id }, at] of [
    [old, daysAgo(30, 1)],
    [young, daysAgo(30)],
  ])
    await harness.query('update leak_reports set reported_at = $2 where credential_id = $1', [id, at])
  await doChores(harness.connection, [pruneLeaks], harness.deps.log)
  assert.deepEqual(await harness.query('select credential_id as id from leak_reports'), [young])
  const rows = await harness.query(`select from audit_logs where payload::json->>'reason' = 'leaked'`)
  assert.equal(rows.length, 2)
})
