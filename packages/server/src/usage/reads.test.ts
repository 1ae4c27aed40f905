import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startHarness } from '../../test/harness.ts'
import { rowsRead } from '../../test/rows-read.ts'
import { makeFleet } from '../../test/usage-fleet.ts'
import type { Tx } from '../platform/db/transaction.ts'
import { listBilling, listDays, listTenantMonths } from './sql.ts'

const harness = await startHarness()
const { query } = harness
const fleet = await makeFleet(harness)
const key = await fleet.newKey()

const readOf = (table: string, work: (tx: Tx) => Promise<unknown>): Promise<number> =>
  harness.db.inWorkspace(fleet.workspaceId, tx => rowsRead(tx, table, () => work(tx)))

test('figures read no row of another workspace or key, however many there are', async () => {
  await harness.setStoreTime(new Date('2030-03-10T12:30:00.000Z'))
  await fleet.report([{ key_id: key, hour: '2030-03-10T12:00:00Z', count: 1 }])
  await query(
    `insert into usage_months (workspace_id, month, tenant_id, project_id, env, requests)
     select (select gen_random_uuid()), '2030-03-01', gen_random_uuid(), gen_random_uuid(), 'live', 1
     from generate_series(1, 5000)`,
  )
  await query(
    `insert into usage_hours (workspace_id, key_id, hour, requests)
     select case when n % 2 = 0 then $1 else gen_random_uuid() end, gen_random_uuid(), '2030-03-10T12:00:00Z', 1
     from generate_series(1, 5000) n`,
    [fleet.workspaceId],
  )
  for (const state of ['before statistics', 'with statistics']) {
    // More often than Postgres plans each time, so that the plan that it keeps is tested too.
    for (let i = 0; i < 8; i++) {
      const read = {
        billing: await readOf('usage_months', tx => listBilling(tx, 24)),
        tenants: await readOf('usage_months', tx =>
          listTenantMonths(tx, { month: null, months: 24, envs: ['live', 'test'], limit: 50 }),
        ),
        days: await readOf('usage_hours', tx => listDays(tx, key, 90)),
      }
      // The only row, which counts twice if a bitmap finds it.
      for (const [figure, rows] of Object.entries(read))
        assert.ok(rows >= 1 && rows <= 2, `${figure} ${state} read ${rows}`)
    }
    await query('vacuum analyze usage_months')
    await query('vacuum analyze usage_hours')
  }
})
