import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makePerson } from '../../server/test/people.ts'
import { until } from '../../server/test/until.ts'
import { issueKey, makeVendor } from '../../server/test/vendor.ts'
import { openStage } from './stage.ts'

const stage = await openStage()
const { harness } = stage
const vendor = await makeVendor(harness)
const as = await makePerson(harness.query, { workspaceId: vendor.workspaceId, role: 'owner', name: 'Ann' })

test('the browser’s Back asks before a new secret is lost, and leaves once it is stored', async () => {
  const { id } = await issueKey(harness, vendor, { name: 'Billing' })
  const visit = await stage.visit('/app/keys', { as })
  const { page } = visit
  await page.getByRole('link', { name: 'Billing' }).first().click()
  await visit.heading('Billing')
  await visit.press('Rotate key')
  await visit.press('Issue the new key')
  const secret = await visit.shownOnce()
  await page.goBack()
  await visit.text('Close without storing it?')
  await visit.look('secret-back')
  assert.equal(await visit.shownOnce(), secret)
  assert.equal(new URL(page.url()).pathname, `/app/keys/${id}`)
  await visit.press('Keep open')
  await visit.store()
  await visit.heading('Billing')
  await page.goBack()
  await page.waitForURL(`**/app/keys/${id}`)
  await visit.leave()
})

test('a filled form asks before Esc, a press outside, its cross or Back throws it away', async () => {
  const visit = await stage.visit('/app/tenants', { as })
  const { page } = visit
  await page.getByRole('link', { name: 'Keys', exact: true }).click()
  await visit.heading('Keys')
  const name = page.getByLabel('Name (optional)')
  const dialog = page.getByRole('dialog')
  await visit.press('Create key')
  // Nothing is typed, so nothing is asked.
  await name.waitFor()
  await page.keyboard.press('Escape')
  await dialog.waitFor({ state: 'detached' })
  await visit.press('Create key')
  await name.fill('Half a name')
  for (const leave of [
    () => page.keyboard.press('Escape'),
    () => page.mouse.click(5, 5),
    () => dialog.getByRole('button', { name: 'Close', exact: true }).click(),
    () => page.goBack(),
  ]) {
    await leave()
    await visit.text('Close and lose what you typed?')
    await visit.press('Keep open')
    assert.equal(await name.inputValue(), 'Half a name')
  }
  await page.keyboard.press('Escape')
  await visit.look('form-asks')
  await visit.press('Close anyway')
  await dialog.waitFor({ state: 'detached' })
  await visit.press('Create key')
  assert.equal(await name.inputValue(), '')
  await name.fill('Again')
  await visit.press('Cancel')
  await dialog.waitFor({ state: 'detached' })
  await page.goBack()
  await visit.heading('Tenants')
  await visit.leave()
})

test('a form that is sent asks nothing, and the page goes where it leads', async () => {
  const visit = await stage.visit('/app/tenants', { as })
  await visit.press('Create tenant')
  await visit.page.getByRole('dialog').getByRole('textbox').first().fill('org_42')
  await visit.page.getByRole('dialog').getByRole('button', { name: 'Create tenant' }).click()
  await visit.heading('org_42')
  assert.equal(await visit.page.getByText('lose what you typed').count(), 0)
  await visit.leave()
})

test('a person creates a key from the page of its tenant, which is chosen already', async () => {
  const visit = await stage.visit(`/app/tenants/${vendor.tenantId}`, { as })
  const { page } = visit
  const { body } = await harness.ask('GET', `/v1/tenants/${vendor.tenantId}`, { token: vendor.live })
  await visit.heading(body.name ?? body.external_id)
  await visit.look('tenant-create-key')
  await page.getByRole('link', { name: 'Create key' }).click()
  const tenant = page.getByRole('dialog').getByRole('combobox', { name: 'Tenant' })
  await until(async () => (await tenant.inputValue()).includes(body.external_id), 'the tenant is chosen')
  await visit.leave()
})

test('a key whose successor was revoked can be rotated again', async () => {
  const { id } = await issueKey(harness, vendor, { name: 'Rotated' })
  const { body } = await harness.ask('POST', `/v1/keys/${id}/rotate`, { token: vendor.live, body: {} })
  const visit = await stage.visit(`/app/keys/${id}`, { as })
  const { page } = visit
  await visit.text('Successor')
  assert.equal(await page.getByRole('button', { name: 'Rotate key' }).count(), 0)
  await harness.ask('POST', `/v1/keys/${body.id}/revoke`, { token: vendor.live, body: {} })
  await page.reload()
  await visit.press('Rotate key')
  await visit.press('Issue the new key')
  await visit.text('The new key')
  await visit.store()
  await visit.leave()
})

test('the dialog that revokes a key asks the service when it was last used', async () => {
  const { id } = await issueKey(harness, vendor, { name: 'In use' })
  const visit = await stage.visit(`/app/keys/${id}`, { as })
  const { page } = visit
  await visit.heading('In use')
  await harness.query('update api_keys set last_used_at = service_now() where id = $1', [id])
  await visit.press('Revoke key')
  const used = page.getByRole('dialog').locator('time')
  await used.waitFor()
  assert.ok(Date.now() - Date.parse(String(await used.getAttribute('datetime'))) < 600_000)
  await visit.look('revoke-last-used')
  await visit.leave()
})
