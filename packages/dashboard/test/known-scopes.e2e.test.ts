import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makePerson } from '../../server/test/people.ts'
import { issueKey, makeVendor } from '../../server/test/vendor.ts'
import { openStage } from './stage.ts'

const stage = await openStage()
const { harness } = stage
const { ask, query } = harness
const makeOne = async (role: 'admin' | 'member' = 'admin') => {
  const vendor = await makeVendor(harness)
  return { vendor, person: await makePerson(query, { workspaceId: vendor.workspaceId, role, name: 'Ann' }) }
}

test('an admin lists the scopes of a project, and its key form offers them', async () => {
  const { vendor, person } = await makeOne()
  const visit = await stage.visit(`/app/projects/${vendor.projectId}`, { as: person })
  await visit.press('Edit')
  const list = visit.page.getByRole('combobox', { name: 'Known scopes' })
  await list.fill('charges:read')
  await list.press('Enter')
  await list.pressSequentially('charges:write,')
  await list.fill('refunds')
  await list.press('Enter')
  await visit.look('project-scopes')
  await visit.press('Save project')
  await visit.text('The project is saved.')
  const project = async () =>
    (await ask('GET', `/v1/projects/${vendor.projectId}`, { token: vendor.live })).body
  assert.deepEqual((await project()).known_scopes, ['charges:read', 'charges:write', 'refunds'])

  await visit.page.goto(`/app/keys?project=${vendor.projectId}&tenant=${vendor.tenantId}`)
  await visit.press('Create key')
  const dialog = visit.page.getByRole('dialog')
  const scopes = dialog.getByRole('combobox', { name: 'Scopes (optional)' })
  await scopes.click()
  await visit.page.getByRole('option', { name: 'charges:write' }).waitFor()
  await visit.look('key-known-scopes')
  await visit.page.getByRole('option', { name: 'refunds' }).click()
  await scopes.fill('chrges:read')
  await scopes.press('Enter')
  await visit.text('Not among the scopes of the project: chrges:read')
  await visit.look('key-unknown-scope')
  await visit.leave()
})

test('a form refuses a scope with a space or a *, and leaves those that are stored', async () => {
  const { vendor, person } = await makeOne()
  const refused = (scope: string) =>
    visit.text(
      `“${scope}” is not a scope: scopes match exactly, so a scope has no spaces and no wildcard (*).`,
    )
  const key = await issueKey(harness, vendor, { scopes: ['orders:*'] })
  const visit = await stage.visit(`/app/projects/${vendor.projectId}`, { as: person })
  await visit.press('Edit')
  const known = visit.page.getByRole('combobox', { name: 'Known scopes' })
  await known.fill('refunds read')
  await known.press('Enter')
  await visit.press('Save project')
  await refused('refunds read')

  await visit.page.goto(`/app/keys?project=${vendor.projectId}&tenant=${vendor.tenantId}`)
  await visit.press('Create key')
  const dialog = visit.page.getByRole('dialog')
  const scopes = dialog.getByRole('combobox', { name: 'Scopes (optional)' })
  await scopes.fill('orders:*')
  await scopes.press('Enter')
  await dialog.getByRole('button', { name: 'Create key' }).click()
  await refused('orders:*')
  await visit.look('key-inexact-scope')

  await visit.page.goto(`/app/keys/${key.id}`)
  await visit.press('Edit')
  await scopes.fill('refunds:*')
  await scopes.press('Enter')
  await visit.press('Save key')
  await refused('refunds:*')
  await scopes.press('Backspace')
  await scopes.fill('refunds')
  await scopes.press('Enter')
  await visit.press('Save key')
  await visit.text('The key is saved.')
  const { body } = await ask('GET', `/v1/keys/${key.id}`, { token: vendor.live })
  assert.deepEqual(body.scopes, ['orders:*', 'refunds'])
  await visit.leave()
})

test('a strict project refuses a wrong scope at its field, with everything typed kept', async () => {
  const { vendor, person } = await makeOne()
  const visit = await stage.visit(`/app/projects/${vendor.projectId}`, { as: person })
  await visit.press('Edit')
  await visit.page.getByLabel('Refuse other scopes').check()
  await visit.text('Without a known scope, new keys have none.')
  await visit.page.getByRole('combobox', { name: 'Known scopes' }).fill('refunds')
  await visit.page.getByRole('combobox', { name: 'Known scopes' }).press('Enter')
  await visit.press('Save project')
  await visit.text('The project is saved.')
  await visit.page.goto(`/app/keys?project=${vendor.projectId}&tenant=${vendor.tenantId}`)
  await visit.press('Create key')
  const dialog = visit.page.getByRole('dialog')
  await visit.fill('Name (optional)', 'Checkout')
  await visit.text('The project refuses other scopes than its own.')
  const scopes = dialog.getByRole('combobox', { name: 'Scopes (optional)' })
  await scopes.fill('refnds')
  await scopes.press('Enter')
  await dialog.getByRole('button', { name: 'Create key' }).click()
  await visit.text('Is not among the known_scopes of the project, which is strict')
  await visit.look('key-refused-scope')
  assert.equal(await dialog.getByLabel('Name (optional)').inputValue(), 'Checkout')
  await scopes.press('Backspace')
  await scopes.click()
  await visit.page.getByRole('option', { name: 'refunds' }).click()
  await dialog.getByRole('button', { name: 'Create key' }).click()
  await visit.text('Your new live key')
  const { body } = await ask('GET', '/v1/keys', { token: vendor.live })
  assert.deepEqual(body.data[0].scopes, ['refunds'])
  await visit.page.getByLabel('I have stored it').check()
  await visit.press('Done')
  await visit.leave()
})

test('a member reads the scopes of a project, and changes nothing', async () => {
  const { vendor, person } = await makeOne('member')
  await ask('PATCH', `/v1/projects/${vendor.projectId}`, {
    token: vendor.live,
    body: { known_scopes: ['charges:read', 'refunds'], strict_scopes: true },
  })
  await issueKey(harness, vendor, { scopes: ['refunds'] })
  const visit = await stage.visit(`/app/projects/${vendor.projectId}`, { as: person })
  await visit.text('charges:read, refunds')
  await visit.text('Other scopes are refused.')
  assert.equal(await visit.page.getByRole('button', { name: /Save/ }).count(), 0)
  await visit.leave()
})
