import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makePerson } from '../../server/test/people.ts'
import { issueKey, makeVendor } from '../../server/test/vendor.ts'
import { openStage } from './stage.ts'

const stage = await openStage()
const { harness } = stage
const { ask, query } = harness

async function makeStory() {
  const vendor = await makeVendor(harness)
  const as = await makePerson(query, { workspaceId: vendor.workspaceId, role: 'admin', name: 'Ann' })
  const { id } = await issueKey(harness, vendor, { name: 'Billing' })
  const networksOf = async (path: string) =>
    (await ask('GET', `/v1/${path}`, { token: vendor.live })).body.allowed_cidrs
  return { vendor, as, id, networksOf }
}

test('an admin binds a key to networks, and tries an address before saving', async () => {
  const { as, id, networksOf } = await makeStory()
  await query('update api_keys set last_used_at = service_now() where id = $1', [id])
  const visit = await stage.visit(`/app/keys/${id}`, { as })
  await visit.heading('Billing')
  await visit.page.getByText('Everywhere', { exact: true }).waitFor()
  await visit.press('Edit')
  const dialog = visit.page.getByRole('dialog')
  await dialog.getByText('Its tenant allows every address.').waitFor()
  await dialog.getByRole('radiogroup', { name: 'Works from' }).getByText('Own').click()
  await dialog.getByText('Keyrail does not learn from which address').waitFor()
  const ranges = dialog.getByRole('combobox', { name: 'Own networks' })
  await ranges.fill('203.0.113.7/24')
  await ranges.press('Enter')
  await dialog.getByRole('button', { name: 'Save key' }).click()
  await dialog.getByText('bits are set after it').waitFor()
  await ranges.press('Backspace')
  await ranges.fill('203.0.113.0/24')
  await ranges.press('Enter')
  const tried = dialog.getByLabel('Try an address')
  await tried.fill('198.51.100.7')
  await dialog.getByText('Refused: it is in none of the ranges.').waitFor()
  await tried.fill('203.0.113.7')
  await dialog.getByText('Allowed by 203.0.113.0/24.').waitFor()
  await visit.look('key-networks')
  await dialog.getByRole('button', { name: 'Save key' }).click()
  await dialog.waitFor({ state: 'detached' })
  await visit.page.getByText('203.0.113.0/24', { exact: true }).waitFor()
  assert.deepEqual(await networksOf(`keys/${id}`), ['203.0.113.0/24'])

  await visit.press('Test key')
  await visit.text('Refused: Address unknown')
  await visit.fill('Address of the caller (optional)', '198.51.100.7')
  await visit.press('Test key')
  await visit.text('Refused: Address not allowed')
  await visit.look('key-test-networks')
  await visit.fill('Address of the caller (optional)', '203.0.113.7')
  await visit.press('Test key')
  await visit.text('A request with this key passes.')
  await visit.leave()
})

test('the networks of a tenant hold for its keys, unless a key works anywhere', async () => {
  const { vendor, as, id, networksOf } = await makeStory()
  const visit = await stage.visit(`/app/tenants/${vendor.tenantId}`, { as })
  const field = visit.page.getByRole('combobox', { name: 'Keys work from' })
  await field.fill('198.51.100.0/24 2001:db8::/32')
  await field.press('Enter')
  await visit.fill('Try an address', '2001:db8::5')
  await visit.text('Allowed by 2001:db8::/32.')
  await visit.look('tenant-networks')
  await visit.press('Save tenant')
  await visit.text('The tenant is saved.')
  assert.deepEqual(await networksOf(`tenants/${vendor.tenantId}`), ['198.51.100.0/24', '2001:db8::/32'])
  await visit.page.goto(`/app/keys/${id}`)
  await visit.text('198.51.100.0/24, 2001:db8::/32, as its tenant')
  await visit.press('Edit')
  const dialog = visit.page.getByRole('dialog')
  await dialog.getByText('Its tenant allows 198.51.100.0/24, 2001:db8::/32.').waitFor()
  await dialog.getByRole('radiogroup', { name: 'Works from' }).getByText('Anywhere').click()
  await dialog.getByRole('button', { name: 'Save key' }).click()
  await dialog.waitFor({ state: 'detached' })
  await visit.page.getByText('Everywhere', { exact: true }).waitFor()
  assert.deepEqual(await networksOf(`keys/${id}`), [])
  await visit.leave()
})
