import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startHarness } from '../../test/harness.ts'
import { makeSecretKey, makeVendor } from '../../test/vendor.ts'

/** With the cap of an installation. */
const harness = await startHarness({ maxActiveSecretKeys: 1_000 })
const { query } = harness
/** With its times. */
const { ask } = await harness.startImpatient()

/** By one maker, as the planner knows it and as it does not: it then takes the workspace for an empty one. */
const many = `
  insert into secret_keys (workspace_id, id, env, role, created_by_type, created_by_id, meta, display_prefix, created_at, expires_at)
  select $1, gen_random_uuid(), 'live', 'owner', 'secret_key', $2, '{}', 'krsk_live_abcd', now(), now() from generate_series(1, 10050)`

for (const statistics of ['without statistics', 'with statistics'] as const)
  test(`at the cap of ended keys of one maker, keys are made ${statistics}`, async () => {
    const vendor = await makeVendor(harness)
    const thief = await makeSecretKey(harness, vendor, { env: 'live' })
    await query(many, [vendor.workspaceId, thief.id])
    if (statistics === 'with statistics') await query('analyze secret_keys')
    // Refused where the service cannot make room within the time that it gives a transaction.
    await makeSecretKey({ ask }, vendor, { env: 'live' })
    await makeSecretKey({ ask }, { live: thief.key }, { env: 'live' })
    const [left] = await query(
      'select count(*)::int as many from secret_keys where workspace_id = $1 and expires_at is not null',
      [vendor.workspaceId],
    )
    assert.ok(Number(left?.many) <= 10_000, `${left?.many}`)
  })
