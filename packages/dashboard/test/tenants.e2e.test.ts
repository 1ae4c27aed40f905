import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makePerson } from '../../server/test/people.ts'
import { makeFleet } from '../../server/test/usage-fleet.ts'
import { issueKey, makeVendor } from '../../server/test/vendor.ts'
import { insertKeys } from './many.ts'
import { openStage } from './stage.ts'

const stage = await openStage()
const { ask, query } = stage.harness
const makeMember = (workspaceId: string, role: 'admin' | 'member') =>
  makePerson(query, { workspaceId, role, name: role })

test('an admin creates a tenant, and finds it by the id of the own system', async () => {
  const acme = await makeVendor(stage.harness)
  await ask('DELETE', `/v1/tenants/${acme.tenantId}`, { token: acme.live })
  const visit = await stage.visit('/app/tenants', { as: await makeMember(acme.workspaceId, 'admin') })
  await visit.text('No tenants yet')
  await visit.look('tenants-empty')
  for (const outcome of ['made', 'taken'] as const) {
    await visit.press('Create tenant')
    const dialog = visit.page.getByRole('dialog')
    await dialog.getByLabel('Your id').fill('customer-42')
    await dialog.getByLabel('Name (optional)').fill('Globex')
    await dialog.getByLabel('Metadata').fill('{\n  "plan": pro\n}')
    await dialog.getByRole('button', { name: 'Create tenant' }).click()
    await visit.text('Line 2: expected a value')
    await dialog.getByLabel('Metadata').fill('{"plan": "pro"}')
    await dialog.getByRole('button', { name: 'Create tenant' }).click()
    if (outcome === 'made') {
      await visit.heading('Globex')
      await visit.page.getByRole('link', { name: 'Tenants' }).click()
      await visit.heading('Tenants')
    } else {
      await visit.text('Another tenant has this id.')
      await visit.look('tenant-create-taken')
      await dialog.getByRole('button', { name: 'Cancel' }).click()
      await dialog.waitFor({ state: 'detached' })
    }
  }
  const search = 'Search by name or id'
  await visit.fill(search, 'initech')
  await visit.text('No match')
  await visit.fill(search, 'customer-4')
  await visit.page.getByRole('link', { name: 'Globex' }).waitFor()
  assert.match(visit.page.url(), /\?q=customer-4$/)
  await visit.look('tenants')
  await visit.leave()
})

test('a tenant shows its keys and requests of the environment, and takes a name and meta', async () => {
  const fleet = await makeFleet(stage.harness)
  const live = await fleet.newKey({ name: 'Production' })
  await fleet.newKey({ name: 'Trial', env: 'test' })
  await fleet.report([{ key_id: live, hour: new Date().toISOString(), count: 1_234 }])
  const path = `/v1/tenants/${fleet.tenantId}`
  const visit = await stage.visit(`/app/tenants/${fleet.tenantId}`, {
    as: await makeMember(fleet.workspaceId, 'admin'),
  })
  const keys = visit.page.getByRole('region', { name: 'Keys of this tenant' })
  await keys.getByText('Production').waitFor()
  assert.equal(await keys.getByText('Trial').count(), 0)
  await visit.text('1,234 in live')
  await visit.page
    .getByRole('figure', { name: 'Requests a day' })
    .getByRole('cell', { name: '1,234' })
    .waitFor({ state: 'attached' })
  await visit.fill('Name', 'Globex')
  await visit.page.getByLabel('Metadata').fill('{"plan": "pro"}')
  await visit.press('Save tenant')
  await visit.heading('Globex')
  await visit.look('tenant')
  assert.deepEqual((await ask('GET', path, { token: fleet.live })).body.meta, { plan: 'pro' })
  await visit.page.getByText('Test', { exact: true }).click()
  await keys.getByText('Trial').waitFor()
  await visit.text('0 in test')
  await visit.leave()
})

test('an admin ends all embed sessions of a tenant, and deletes it after typing its name', async () => {
  const acme = await makeVendor(stage.harness)
  const { body } = await ask('PATCH', `/v1/tenants/${acme.tenantId}`, {
    token: acme.live,
    body: { name: 'Globex' },
  })
  await issueKey(stage.harness, acme)
  const visit = await stage.visit(`/app/tenants/${body.id}`, {
    as: await makeMember(acme.workspaceId, 'admin'),
  })
  await visit.press('End all embed sessions')
  await visit.look('tenant-end-sessions')
  await visit.press('End sessions')
  await visit.text('The embed sessions of Globex have ended.')
  const logged = await ask('GET', '/v1/audit_logs?limit=200', { token: acme.live })
  const actions = logged.body.data.map(({ action }: { action: string }) => action)
  assert.ok(
    actions.some((action: string) => action.includes('embed')),
    actions.join(' '),
  )

  await visit.press('Delete tenant')
  await visit.text('1 live key stops working at once.')
  await visit.fill('Type Globex to confirm', 'Globex')
  await visit.look('tenant-delete')
  await visit.page.getByRole('dialog').getByRole('button', { name: 'Delete tenant' }).click()
  await visit.heading('Tenants')
  await visit.text('No tenants yet')
  assert.equal((await ask('GET', `/v1/tenants/${body.id}`, { token: acme.live })).status, 404)
  await visit.leave()
})

test('the end of a tenant with very many keys says that there are more than it counts', async () => {
  const acme = await makeVendor(stage.harness)
  await insertKeys(stage.harness, acme, 1_001)
  await issueKey(stage.harness, acme, { env: 'test' })
  const visit = await stage.visit(`/app/tenants/${acme.tenantId}`, {
    as: await makeMember(acme.workspaceId, 'admin'),
  })
  await visit.press('Delete tenant')
  await visit.text('More than 1,000 live keys and 1 test key stop working at once.')
  await visit.leave()
})

test('a member sees a tenant and nothing that changes it', async () => {
  const acme = await makeVendor(stage.harness)
  const visit = await stage.visit(`/app/tenants/${acme.tenantId}`, {
    as: await makeMember(acme.workspaceId, 'member'),
  })
  await visit.text('An admin or an owner can change this tenant.')
  await visit.text('No live keys yet')
  const changes = visit.page.getByRole('button', { name: /Save|Delete|End|Create/ })
  assert.equal(await changes.count(), 0)
  await visit.look('tenant-of-a-member')
  await visit.leave()
})

test('an admin suspends a tenant, waits for the nodes, and resumes it', async () => {
  const vendor = await makeVendor(stage.harness)
  const { live, projectId, tenantId } = vendor
  const { id } = await issueKey(stage.harness, vendor, { name: 'Billing' })
  const poll = (path: string) =>
    ask('GET', `/v1/policy/${path}project_id=${projectId}&node=api-1&features=suspended`, { token: live })
  const { version } = (await poll('snapshot?')).body
  await poll(`delta?since=${version}&`)
  const visit = await stage.visit(`/app/tenants/${tenantId}`, {
    as: await makeMember(vendor.workspaceId, 'admin'),
  })
  await visit.press('Suspend tenant')
  const dialog = visit.page.getByRole('dialog')
  await dialog.getByLabel('Reason (optional)').fill('unpaid')
  await visit.look('tenant-suspend')
  await dialog.getByRole('button', { name: 'Suspend tenant' }).click()
  await visit.text('The service has suspended the tenant.')
  await poll(`delta?since=${version + 1}&`)
  await visit.text('The node refuses its keys, after')
  await visit.look('tenant-suspending')
  await dialog.getByRole('button', { name: 'Done' }).click()
  const notice = visit.page.locator('[role="status"]:focus')
  await notice.getByText('Your nodes refuse every key of this tenant, live and test.').waitFor()
  assert.ok(((await notice.boundingBox())?.y ?? 0) > 100, 'the bar at the top covers it')
  await visit.look('tenant-suspended')
  await visit.page.getByRole('link', { name: 'Billing' }).click()
  await visit.heading('Billing')
  await visit.page.getByText('Suspended', { exact: true }).waitFor()
  await visit.press('Test key')
  await visit.text('Refused: Suspended tenant')
  await visit.page.getByRole('link', { name: 'Keys', exact: true }).click()
  await visit.heading('Keys')
  await visit.text('Tenant suspended')
  await visit.look('keys-of-suspended')
  await visit.page.getByRole('link', { name: 'Tenants' }).click()
  await visit.heading('Tenants')
  await visit.page.getByText('Suspended', { exact: true }).waitFor()
  await visit.look('tenants-suspended')
  await visit.page.getByRole('link', { name: /^org-/ }).click()
  await visit.press('Resume tenant')
  await visit.page.getByRole('dialog').getByRole('button', { name: 'Resume tenant' }).click()
  await visit.page.getByRole('button', { name: 'Suspend tenant' }).waitFor()
  const tenant = (await ask('GET', `/v1/tenants/${tenantId}`, { token: live })).body
  const key = (await ask('GET', `/v1/keys/${id}`, { token: live })).body
  assert.deepEqual([tenant.suspended_at, key.disabled_at, key.revoked_at], [null, null, null])
  await visit.leave()
})
