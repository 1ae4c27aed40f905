import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openStage, tokenOf } from './stage.ts'

const stage = await openStage()

test('the heading names the project whose keys they are, as its vendor renames it', async () => {
  const vendor = await stage.makeVendor()
  const visit = await stage.visit({ token: () => tokenOf(stage, vendor) })
  const heading = (name: string) => visit.page.getByRole('heading', { name, exact: true }).waitFor()
  await heading('API keys Payments')
  const { status } = await stage.harness.ask('PATCH', `/v1/projects/${vendor.projectId}`, {
    token: vendor.live,
    body: { name: '<b>Payments</b> 2' },
  })
  assert.equal(status, 200)
  await visit.page.evaluate(`document.querySelector('keyrail-keys').refresh()`)
  await heading('API keys <b>Payments</b> 2')
  await visit.look('project')
  await visit.leave()
})

test('the dialog offers the scopes that the project knows, of those that the token may give', async () => {
  const vendor = await stage.makeVendor()
  const { status } = await stage.harness.ask('PATCH', `/v1/projects/${vendor.projectId}`, {
    token: vendor.live,
    body: { known_scopes: ['refunds', 'payouts'] },
  })
  assert.equal(status, 200)
  const visit = await stage.visit({ token: () => tokenOf(stage, vendor) })
  await visit.button('Create key').click()
  await visit.page.getByRole('checkbox', { name: 'refunds', exact: true }).waitFor()
  assert.equal(await visit.page.getByRole('checkbox').count(), 1)
  await visit.look('offered-scopes')
  await visit.leave()
})
