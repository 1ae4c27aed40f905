import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makePerson } from '../../server/test/people.ts'
import { makeVendor } from '../../server/test/vendor.ts'
import { openStage } from './stage.ts'

const stage = await openStage()
const { query, ask } = stage.harness
const makeMember = (workspaceId: string, name: string, role: 'owner' | 'admin' | 'member') =>
  makePerson(query, { workspaceId, role, name, email: `${name.toLowerCase()}@example.com` })

test('an admin changes name and billing address, and both stay', async () => {
  const acme = await makeVendor(stage.harness)
  const ann = await makeMember(acme.workspaceId, 'Ann', 'admin')
  const visit = await stage.visit('/app/settings/workspace', { as: ann })
  await visit.fill('Name', 'Acme Payments')
  await visit.fill('Billing address', 'nobody')
  await visit.press('Save settings')
  await visit.text('Enter an e-mail address, or nothing.')
  await visit.look('workspace')
  await visit.fill('Billing address', 'bills@example.com')
  await visit.press('Save settings')
  await visit.text('The settings are saved.')
  const { body } = await ask('GET', '/v1/workspace', { token: acme.live })
  assert.deepEqual([body.name, body.billing_email], ['Acme Payments', 'bills@example.com'])
  await visit.page.reload()
  await visit.page.getByRole('button', { name: 'Acme Payments' }).waitFor()
  await visit.fill('Billing address', '')
  await visit.press('Save settings')
  await visit.text('The settings are saved.')
  assert.equal((await ask('GET', '/v1/workspace', { token: acme.live })).body.billing_email, null)
  await visit.leave()
})

test('a member reads the settings, no way to change them, and why', async () => {
  const acme = await makeVendor(stage.harness)
  const bob = await makeMember(acme.workspaceId, 'Bob', 'member')
  const visit = await stage.visit('/app/settings/workspace', { as: bob })
  await visit.text('Only an admin or an owner can change these settings.')
  await visit.text(acme.workspaceId)
  assert.equal(await visit.page.getByLabel('Name', { exact: true }).count(), 0)
  await visit.look('workspace-as-member')
  await visit.leave()
})
