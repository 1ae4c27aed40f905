import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makePerson } from '../../server/test/people.ts'
import { makeSecretKey, makeVendor } from '../../server/test/vendor.ts'
import { openStage } from './stage.ts'

const stage = await openStage()
const { harness } = stage
const { query, ask } = harness
const makeMember = (workspaceId: string, name: string, role: 'owner' | 'admin' | 'member') =>
  makePerson(query, { workspaceId, role, name, email: `${name.toLowerCase()}@example.com` })

test('an admin creates a secret key for a server, and sees it once', async () => {
  const acme = await makeVendor(harness)
  const ann = await makeMember(acme.workspaceId, 'Ann', 'admin')
  const visit = await stage.visit('/app/settings/secret-keys', { as: ann })
  await visit.text('Bootstrap token')
  await visit.press('Create secret key')
  await visit.press('Create')
  await visit.text('Type what the key is for.')
  await visit.fill('Name', 'Payments servers')
  await visit.page.getByLabel('Project').selectOption({ label: 'Payments' })
  await visit.page.getByLabel('Expires').selectOption('90')
  await visit.fill('Only from these addresses', '127.0.0.1 not-an-address')
  await visit.press('Create')
  await visit.text('not-an-address is not an address or a range.')
  await visit.look('create-secret-key')
  await visit.fill('Only from these addresses', '127.0.0.1')
  await visit.press('Create')
  await visit.text('Copy the secret key now.')
  await visit.look('new-secret-key')
  const secret = await visit.shownOnce()
  await visit.page.keyboard.press('Escape')
  await visit.text('Close without storing it?')
  await visit.press('Keep open')
  await visit.store()
  await visit.text('Verify keys, in Payments')
  await visit.assertForgotten(secret)
  await visit.look('secret-keys')

  const body = (await ask('GET', '/v1/secret_keys', { token: acme.live })).body
  const [{ name, role, project_ids, allowed_cidrs, permissions }] = body.data
  assert.deepEqual([name, role, project_ids], ['Payments servers', 'admin', [acme.projectId]])
  assert.deepEqual(allowed_cidrs, ['127.0.0.1/32'])
  assert.ok(permissions.includes('policy:read'))
  await visit.leave()
})

test('an admin chooses the permissions of a key, reads them on its page, and renames it', async () => {
  const acme = await makeVendor(harness)
  const ann = await makeMember(acme.workspaceId, 'Flo', 'admin')
  const visit = await stage.visit('/app/settings/secret-keys?create=open', { as: ann })
  const { page } = visit
  await visit.fill('Name', 'Backoffice')
  await page.getByRole('radio', { name: 'Choose permissions' }).click()
  await visit.press('Create')
  await visit.text('Choose at least one permission.')
  await page.getByRole('checkbox', { name: 'tenants:read', exact: true }).click()
  await page.getByRole('checkbox', { name: 'keys:write', exact: true }).click()
  await visit.look('choose-permissions')
  await visit.press('Create')
  await visit.shownOnce()
  await visit.store()
  await page.getByRole('link', { name: 'Backoffice' }).click()
  await visit.heading('Backoffice')
  await visit.text('Create, change, rotate and revoke keys')
  await visit.text('List and read tenants')
  await visit.look('secret-key')
  await visit.fill('Name', 'Support desk')
  await visit.press('Save name')
  await visit.text('The name is saved.')
  await visit.heading('Support desk')
  const { body } = await ask('GET', '/v1/secret_keys', { token: acme.live })
  assert.deepEqual(
    [body.data[0].name, body.data[0].permissions],
    ['Support desk', ['keys:write', 'tenants:read']],
  )
  await visit.leave()
})

test('an admin revokes a secret key, then sees and revokes a key that was made with it', async () => {
  const acme = await makeVendor(harness)
  const bob = await makeMember(acme.workspaceId, 'Bob', 'admin')
  const parent = await makeSecretKey(harness, acme, { name: 'deploy' })
  const child = await makeSecretKey(harness, { live: parent.key }, { name: 'worker' })
  const visit = await stage.visit('/app/settings/secret-keys', { as: bob })
  await visit.text('Secret key deploy')
  await visit.press('Revoke deploy')
  await visit.fill('Reason', 'leaked')
  await visit.look('revoke-secret-key')
  await visit.press('Revoke secret key')
  await visit.text('Keys that live on')
  await visit.page.getByRole('dialog').getByRole('button', { name: 'Revoke worker' }).click()
  await visit.press('Revoke for good: worker')
  await visit.page.getByText('Revoked', { exact: true }).waitFor()
  await visit.press('Done')
  for (const token of [parent.key, child.key])
    assert.equal((await ask('GET', '/v1/workspace', { token })).status, 401)

  await visit.page.getByRole('switch', { name: 'Show revoked' }).click()
  await visit.text('worker')
  assert.match(visit.page.url(), /\/app\/settings\/secret-keys\?revoked=shown$/)
  await visit.page.reload()
  await visit.text('worker')
  await visit.look('revoked-secret-keys')
  await visit.leave()
})

test('a member sees the secret keys of each environment, no way to change them, and why', async () => {
  const acme = await makeVendor(harness)
  const cyd = await makeMember(acme.workspaceId, 'Cyd', 'member')
  const visit = await stage.visit('/app/settings/secret-keys', { as: cyd })
  await visit.text('krsk_live_')
  await visit.text('Only an admin or an owner can create or change them.')
  // The headers of columns sort.
  assert.equal(await visit.page.locator('main button:not(th button)').count(), 0)
  await visit.page.getByText('Test', { exact: true }).first().click()
  await visit.text('krsk_test_')
  assert.equal(await visit.page.getByText('krsk_live_').count(), 0)
  await visit.look('secret-keys-as-member')
  await visit.leave()
})

test('an admin rotates a secret key, sees the new one once, and may not rotate an owner’s', async () => {
  const acme = await makeVendor(harness)
  const dan = await makeMember(acme.workspaceId, 'Dan', 'admin')
  const limits = { preset: 'node', project_ids: [acme.projectId], allowed_cidrs: ['127.0.0.1/32'] }
  const { body: old } = await ask('POST', '/v1/secret_keys', {
    token: dan.token,
    body: { env: 'live', name: 'worker', ...limits },
  })
  const visit = await stage.visit('/app/settings/secret-keys', { as: dan })
  await visit.press('Rotate worker')
  await visit.page.getByText('Now', { exact: true }).click()
  await visit.text('The old key ends at once.')
  await visit.fill('Overlap in hours', '2')
  await visit.text('The old key ends on')
  await visit.look('rotate-secret-key')
  await visit.press('Issue the new key')
  await visit.text('Copy the secret key now.')
  const secret = await visit.shownOnce()
  await visit.page.keyboard.press('Escape')
  await visit.text('Close without storing it?')
  await visit.store()
  await visit.page.getByText('Rotated', { exact: true }).filter({ visible: true }).waitFor()
  await visit.page.getByRole('dialog').waitFor({ state: 'detached' })
  await visit.assertForgotten(secret)
  // The successor only; the keys of the bootstrap have the role of an owner.
  assert.equal(await visit.page.getByRole('button', { name: /^Rotate / }).count(), 1)
  await visit.look('rotated-secret-key')

  const { body } = await ask('GET', '/v1/secret_keys', { token: acme.live })
  const [successor, predecessor] = body.data
  assert.deepEqual([predecessor.id, successor.rotated_from], [old.id, old.id])
  const { role, permissions, project_ids, allowed_cidrs } = predecessor
  const { name, ...more } = successor
  assert.deepEqual([name, more.role, more.permissions], ['worker', role, permissions])
  assert.deepEqual([more.project_ids, more.allowed_cidrs], [project_ids, allowed_cidrs])
  const snapshot = `/v1/policy/snapshot?project_id=${acme.projectId}&node=api-1&max_keys=100`
  for (const token of [old.key, secret]) assert.equal((await ask('GET', snapshot, { token })).status, 200)
  await visit.leave()
})
