import assert from 'node:assert/strict'
import { test } from 'node:test'
import { until } from '../../server/test/until.ts'
import { openStage } from './stage.ts'
import { makeKey, openTokenRoute } from './vendor-side.ts'

const stage = await openStage()
const { ask } = stage.harness
const scopes = ['keys:read', 'keys:write', 'network:write']
const range = '203.0.113.0/24'

test('a customer says from where all keys work, and where one of them works', async () => {
  const vendor = await stage.makeVendor()
  const { id } = await makeKey(stage, vendor, 'Build server')
  const listOf = async (path: string) =>
    (await ask('GET', `/v1/${path}`, { token: vendor.live })).body.allowed_cidrs
  const visit = await stage.visit({ token: openTokenRoute(stage, vendor, { scopes }).token })
  const { page } = visit
  await visit.text('Keys work from:')
  await visit.look('networks-none')
  await page.getByRole('button', { name: 'Edit: Keys work from' }).click()
  const dialog = page.getByRole('dialog')
  const field = dialog.getByRole('textbox', { name: 'Works from' })
  const isRefused = async (refused: string) => {
    await dialog.getByRole('button', { name: 'Save' }).click()
    const fault = dialog.getByRole('alert')
    await fault.getByText(`${refused}: `).waitFor()
    assert.equal(
      await fault.textContent(),
      `${refused}: Not an address or range. A range begins with its first address, such as 10.0.0.0/8.`,
    )
    assert.equal(await dialog.getByText('That did not work').count(), 0)
    assert.equal(await field.getAttribute('aria-invalid'), 'true')
  }
  await field.fill(`10.0.0.5/8\n${range}\nhello`)
  await isRefused('10.0.0.5/8, hello')
  await visit.look('networks-refused')
  // Nothing comes in the place of what is taken back.
  await field.fill(range)
  assert.equal(await dialog.getByRole('alert').count(), 0)
  await field.fill(`${range}, 2001:DB8::/32`)
  await dialog.getByRole('button', { name: 'Save' }).click()
  await dialog.waitFor({ state: 'detached' })
  await visit.text(`${range}, 2001:db8::/32`)
  assert.deepEqual(await listOf(`tenants/${vendor.tenantId}`), [range, '2001:db8::/32'])

  await page.getByRole('button', { name: 'Edit Build server' }).click()
  await field.fill('10.0.0.5/8, hello')
  await isRefused('10.0.0.5/8, hello')
  await field.fill('198.51.100.7')
  await visit.look('networks-key')
  await dialog.getByRole('button', { name: 'Save' }).click()
  await dialog.waitFor({ state: 'detached' })
  await page.getByRole('listitem').getByText('198.51.100.7/32').waitFor()
  assert.deepEqual(await listOf(`keys/${id}`), ['198.51.100.7/32'])
  await visit.look('networks')
  await page.getByRole('button', { name: 'Edit Build server' }).click()
  await field.fill('')
  await dialog.getByRole('button', { name: 'Save' }).click()
  await page.getByRole('listitem').getByText('198.51.100.7/32').waitFor({ state: 'detached' })
  assert.equal(await listOf(`keys/${id}`), null)
  await ask('PATCH', `/v1/keys/${id}`, { token: vendor.live, body: { allowed_cidrs: [] } })
  await page.evaluate(`document.querySelector('keyrail-keys').refresh()`)
  // Until the list is read again, the dialog has the key as it was.
  await until(async () => {
    await page.getByRole('button', { name: 'Edit Build server' }).click()
    const isAnywhere = (await dialog.getByText('Empty: from everywhere.').count()) === 1
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    return isAnywhere
  }, 'the key works from everywhere')
  await visit.leave()
})

test('without the scope the networks are read, and without any of them nothing is said', async () => {
  const vendor = await stage.makeVendor()
  await makeKey(stage, vendor, 'Build server')
  const visit = await stage.visit({
    token: openTokenRoute(stage, vendor, { scopes: scopes.slice(0, 2) }).token,
  })
  const { page } = visit
  await page.getByRole('button', { name: 'Edit Build server' }).click()
  assert.equal(await page.getByRole('textbox', { name: 'Works from' }).count(), 0)
  await page.getByRole('button', { name: 'Cancel' }).click()
  assert.equal(await page.getByText('Keys work from').count(), 0)
  const body = { allowed_cidrs: [range] }
  await ask('PATCH', `/v1/tenants/${vendor.tenantId}`, { token: vendor.live, body })
  await page.evaluate(`document.querySelector('keyrail-keys').refresh()`)
  await visit.text(`Keys work from: ${range}`)
  assert.equal(await page.getByRole('button', { name: 'Edit: Keys work from' }).count(), 0)
  await visit.leave()
})

test('a customer whose account is suspended reads so, and can only look', async () => {
  const vendor = await stage.makeVendor()
  await makeKey(stage, vendor, 'Build server')
  await ask('POST', `/v1/tenants/${vendor.tenantId}/suspend`, { token: vendor.live, body: {} })
  const { name } = (await ask('GET', '/v1/workspace', { token: vendor.live })).body
  const visit = await stage.visit({ token: openTokenRoute(stage, vendor, { scopes }).token })
  await visit.text(`${name} has suspended your account. All keys are refused until it is resumed.`)
  await visit.page.getByText('Build server').waitFor()
  assert.equal(await visit.page.getByRole('button').count(), 0)
  await visit.look('suspended')
  await visit.leave()
})
