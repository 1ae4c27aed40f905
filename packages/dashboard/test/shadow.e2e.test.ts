import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { makePerson } from '../../server/test/people.ts'
import { makeProject, makeVendor, type Vendor } from '../../server/test/vendor.ts'
import { openStage, type Visit } from './stage.ts'

const stage = await openStage()
const { ask, query } = stage.harness

/** Reports as nodes do: counts by the reason of a record. */
async function report({ live: token }: Vendor, project_id: string, counts: Record<string, number>) {
  const [{ now }] = await query('select service_now() as now')
  const records = Object.entries(counts).map(([reason, count]) => ({
    hour: now.toISOString(),
    reason,
    count,
  }))
  const body = { report_id: randomUUID(), project_id, records }
  const { status, body: answer } = await ask('POST', '/v1/usage/refusals', { token, body })
  assert.deepEqual([status, answer.ignored], [202, 0])
}

async function open() {
  const vendor = await makeVendor(stage.harness)
  const as = await makePerson(query, { workspaceId: vendor.workspaceId, role: 'member', name: 'Ann' })
  return { vendor, visit: await stage.visit('/app/', { as }) }
}

const shadowIn = ({ page }: Visit) => page.getByRole('region', { name: 'Shadow, 7 days' })
const rowsIn = (visit: Visit) => shadowIn(visit).locator('dl > div').allTextContents()

test('a project shows where its old check disagrees, and a project without one shows nothing', async () => {
  const { vendor, visit } = await open()
  const other = await makeProject(stage.harness, vendor)
  await report(vendor, vendor.projectId, {
    shadow_agreed: 48_211,
    shadow_accepted: 3,
    shadow_unknown_key: 120,
    shadow_expired_key: 14,
    shadow_not_held: 2,
    shadow_guard_rate_limited: 1,
    unknown_key: 500,
  })
  await visit.page.goto(`${stage.url}/app/projects/${vendor.projectId}`)
  await shadowIn(visit).getByText('Unknown key').waitFor()
  assert.deepEqual(await rowsIn(visit), [
    'Agreed48,21199.7% of all',
    'Accepted by your old check, refused here136',
    'Refused by your old check, accepted here3',
    'Unknown key120',
    'Expired key14',
    'Key not held by the node2',
    'Over the limit1',
  ])
  await shadowIn(visit).getByText('Switch when no difference is left').waitFor()
  await visit.look('project-shadow')
  await visit.page.goto(`${stage.url}/app/projects/${vendor.projectId}?env=test`)
  await visit.text('No nodes')
  await visit.page.goto(`${stage.url}/app/projects/${other.id}`)
  await visit.text('No nodes')
  await visit.page.waitForLoadState('networkidle')
  assert.equal(await shadowIn(visit).count(), 0)
  await visit.leave()
})

test('what guards alone report claims no agreement, and an older process shows nothing', async () => {
  const { vendor, visit } = await open()
  await report(vendor, vendor.projectId, {
    shadow_guard_missing_key: 9,
    shadow_guard_wrong_env: 4,
    shadow_guard_stale: 2,
  })
  const address = `${stage.url}/app/projects/${vendor.projectId}`
  await visit.page.goto(address)
  await shadowIn(visit).getByText('Would be refused here').waitFor()
  assert.deepEqual(await rowsIn(visit), [
    'No key9',
    'Key of the other environment4',
    'Keys not confirmed for too long2',
  ])
  assert.doesNotMatch((await shadowIn(visit).textContent()) ?? '', /Agreed|%|Accepted by your old check/)
  await visit.look('project-shadow-guards')
  await visit.page.route('**/v1/usage/refusals?*', async route => {
    const { shadow: _, ...older } = await (await route.fetch()).json()
    await route.fulfill({ json: older })
  })
  await visit.page.goto(address)
  await visit.text('No nodes')
  await visit.page.waitForLoadState('networkidle')
  assert.equal(await shadowIn(visit).count(), 0)
  await visit.leave()
})
