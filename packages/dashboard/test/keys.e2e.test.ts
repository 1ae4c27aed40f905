import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { makePerson } from '../../server/test/people.ts'
import { issueKey, makeVendor } from '../../server/test/vendor.ts'
import { openStage } from './stage.ts'

// Long enough for the test to answer as a node on a slow machine.
const stage = await openStage({ revokeWaitMs: 25_000 })
const { harness } = stage
const { ask, query } = harness
const makeOne = async (role: 'admin' | 'member' = 'admin') => {
  const vendor = await makeVendor(harness)
  return { vendor, person: await makePerson(query, { workspaceId: vendor.workspaceId, role, name: 'Ann' }) }
}

test('a person without keys reads what to type, and makes one that is shown once', async () => {
  const { vendor, person } = await makeOne()
  const visit = await stage.visit('/app/keys', { as: person })
  await visit.text('No live keys yet')
  await visit.look('keys-empty')
  await visit.press('Create key')
  const dialog = visit.page.getByRole('dialog')
  await dialog.getByRole('button', { name: 'Create key' }).click()
  await visit.text('Choose a tenant.')
  await dialog.getByRole('combobox', { name: 'Project' }).click()
  await visit.page.getByRole('option', { name: 'Payments' }).click()
  await dialog.getByRole('combobox', { name: 'Tenant' }).fill('org-')
  await visit.page.getByRole('option', { name: /^org-/ }).click()
  await visit.fill('Name (optional)', 'Checkout')
  await visit.page.getByLabel('Expires').selectOption('30')
  await visit.text('The key ends on')
  await dialog.getByRole('radiogroup', { name: 'Limits' }).getByText('Own').click()
  await visit.text('100 requests a minute, sliding, per key')
  await visit.page.getByLabel('Metadata (optional)').fill('{\n  "plan": "pro",\n  seats: 3\n}')
  await dialog.getByRole('button', { name: 'Create key' }).click()
  await visit.text('Line 3: expected a name in double quotes.')
  await visit.look('key-create')
  await visit.page.getByLabel('Metadata (optional)').fill('{ "plan": "pro" }')
  await dialog.getByRole('button', { name: 'Create key' }).click()
  await visit.text('Your new live key')
  await visit.look('key-secret')
  const secret = await visit.shownOnce()
  await visit.store()
  await visit.page.getByRole('link', { name: 'Checkout' }).waitFor()
  await visit.page.getByRole('dialog').waitFor({ state: 'detached' })
  await visit.assertForgotten(secret)
  const { body } = await ask('GET', '/v1/keys', { token: vendor.live })
  const [{ name, meta, rate_limits }] = body.data
  assert.deepEqual([name, meta, rate_limits.length], ['Checkout', { plan: 'pro' }, 1])
  await visit.leave()
})

test('a person finds keys by filters in the address, and by pasting the key itself', async () => {
  const { vendor, person } = await makeOne()
  const [first, second] = [
    await issueKey(harness, vendor, { name: 'Billing', scopes: ['read', 'write'] }),
    await issueKey(harness, vendor, { name: 'Reports', rate_limits: [] }),
  ]
  const hidden = await issueKey(harness, vendor, { env: 'test', name: 'In test' })
  await ask('POST', `/v1/keys/${first.id}/revoke`, { token: vendor.live, body: { reason: 'left' } })
  const visit = await stage.visit('/app/keys?status=revoked', { as: person })
  const link = (name: string) => visit.page.getByRole('link', { name, exact: true })
  await link('Billing').waitFor()
  assert.equal(await link('Reports').count(), 0)
  await visit.page.getByRole('combobox', { name: 'By status' }).click()
  await visit.page.getByRole('option', { name: 'Not revoked' }).waitFor()
  await visit.look('keys-status')
  await visit.page.getByRole('option', { name: 'Not revoked' }).click()
  await link('Reports').waitFor()
  assert.doesNotMatch(visit.page.url(), /status/)
  await visit.look('keys')
  await visit.fill('Find keys', 'nothing')
  await visit.text('No match')
  await visit.page.waitForURL(/q=nothing/)
  await visit.look('keys-no-match')
  await visit.press('Clear filters')
  await link('Reports').waitFor()
  await visit.fill('Find keys', second.key.slice(0, 20))
  await visit.page.keyboard.press('Enter')
  await visit.text('This is more of a key than is stored as text.')
  assert.doesNotMatch(visit.page.url(), /q=/)
  await visit.fill('Find keys', `kr_live_${'x'.repeat(38)}`)
  await visit.text('The text is no key: its form or its checksum is wrong.')
  await visit.fill('Find keys', hidden.key)
  await visit.heading('In test')
  assert.match(visit.page.url(), new RegExp(`/app/keys/${hidden.id}\\?env=test$`))
  await visit.assertForgotten(hidden.key)
  await visit.page.goto(`/app/keys/${hidden.id}`)
  await visit.text('This is a test key')
  await visit.page.goto(`/app/keys/${randomUUID()}`)
  await visit.text('No such key')
  await visit.look('key-missing')
  await visit.leave()
})

test('every row names its tenant and project, also beyond the newest ones of the workspace', async () => {
  const { vendor, person } = await makeOne()
  const { workspaceId, tenantId, live } = vendor
  await ask('PATCH', `/v1/tenants/${tenantId}`, { token: live, body: { name: 'Globex' } })
  for (let i = 0; i < 3; i++) await issueKey(harness, vendor, { name: `Key ${i}` })
  await query(
    `insert into tenants (workspace_id, id, external_id, name, created_at, updated_at)
     select $1, ('ffffffff-' || substr(gen_random_uuid()::text, 10))::uuid, 'org_' || n, 'Customer ' || n, now(), now()
     from generate_series(1, 210) n`,
    [workspaceId],
  )
  const visit = await stage.visit('/app/', { as: person })
  await visit.heading('Overview')
  const asked: string[] = []
  visit.page.on('request', request => asked.push(decodeURIComponent(request.url())))
  await visit.page.getByRole('link', { name: 'Keys', exact: true }).click()
  const rows = visit.page.getByRole('row', { name: /Key \d .*Globex Payments/ })
  await rows.nth(2).waitFor()
  // One request for all rows, and none if the overview has asked for the name already.
  assert.ok(asked.filter(url => url.includes(`/v1/tenants?ids=${tenantId}&`)).length <= 1)
  await visit.page.goto(`/app/tenants/${tenantId}`)
  await visit.page
    .getByRole('region', { name: 'Keys of this tenant' })
    .getByRole('cell', { name: 'Payments' })
    .first()
    .waitFor()
  await visit.leave()
})

test('a key page shows requests and changes; an edit keeps what it does not touch', async () => {
  const { vendor, person } = await makeOne()
  const { id } = await issueKey(harness, vendor, { name: 'Billing', scopes: ['read'], meta: { plan: 'pro' } })
  await issueKey(harness, vendor, { name: 'Other', scopes: ['write'] })
  const [{ now }] = await query('select service_now() as now')
  const records = [{ key_id: id, hour: now, count: 1_204 }]
  await ask('POST', '/v1/usage/reports', {
    token: vendor.live,
    body: { report_id: randomUUID(), sample_rate: 1, records },
  })
  const visit = await stage.visit(`/app/keys/${id}`, { as: person })
  await visit.heading('Billing')
  await visit.text('1,204 requests')
  await visit.page.getByText('90 days', { exact: true }).click()
  await visit.text('1,204 requests in 90 days')
  await visit.page.getByRole('cell', { name: 'Created' }).waitFor()
  await visit.look('key')
  await visit.press('Edit')
  await visit.fill('Name (optional)', 'Invoices')
  await visit.page.getByRole('combobox', { name: 'Scopes (optional)' }).fill('wri')
  await visit.page.getByRole('option', { name: 'write' }).click()
  await visit.look('key-edit')
  await visit.press('Save key')
  await visit.heading('Invoices')
  await visit.text('Changed: ')
  for (const [name, path] of [
    ['Payments', `projects/${vendor.projectId}`],
    [/^org-/, `tenants/${vendor.tenantId}`],
  ] as const) {
    const link = visit.page.getByRole('main').getByRole('link', { name })
    assert.equal(await link.getAttribute('href'), `/app/${path}`)
  }
  const { body } = await ask('GET', `/v1/keys/${id}`, { token: vendor.live })
  assert.deepEqual([body.name, body.scopes, body.meta], ['Invoices', ['read', 'write'], { plan: 'pro' }])
  await visit.leave()
})

test('a person rotates a key by keyboard, and sees how long both keys work', async () => {
  const { vendor, person } = await makeOne()
  const { id } = await issueKey(harness, vendor, { name: 'Billing' })
  const visit = await stage.visit(`/app/keys/${id}`, { as: person })
  await visit.page.getByRole('button', { name: 'Rotate key' }).focus()
  await visit.page.keyboard.press('Enter')
  await visit.text('The old key ends on')
  await visit.page.getByText('Now', { exact: true }).click()
  await visit.text('The old key ends at once.')
  await visit.fill('Overlap in hours', '200')
  await visit.text('An overlap is 0 to 168 hours.')
  await visit.fill('Overlap in hours', '1')
  await visit.look('key-rotate')
  await visit.page.getByRole('button', { name: 'Issue the new key' }).press('Enter')
  await visit.text('The new key')
  const secret = await visit.shownOnce()
  await visit.page.getByLabel('I have stored it').press('Space')
  await visit.page.getByRole('button', { name: 'Done' }).press('Enter')
  await visit.text('Predecessor: ')
  await visit.text('Both keys work from')
  await visit.text('The upright line is now.')
  await visit.page.getByRole('dialog').waitFor({ state: 'detached' })
  await visit.assertForgotten(secret)
  await visit.page.getByRole('region', { name: 'Lineage' }).scrollIntoViewIfNeeded()
  await visit.look('key-lineage')
  await visit.page.getByRole('region', { name: 'Lineage' }).getByRole('link').click()
  await visit.text('Successor: ')
  assert.match(visit.page.url(), new RegExp(id))
  await visit.leave()
})

test('a person revokes a key, and reads which nodes refuse it', async () => {
  const { vendor, person } = await makeOne()
  const { id } = await issueKey(harness, vendor, { name: 'Billing' })
  const feed = (path: string) =>
    ask('GET', `/v1/policy/${path}&project_id=${vendor.projectId}&node=api-1`, { token: vendor.live })
  const { body: snapshot } = await feed('snapshot?max_keys=100')
  await feed(`delta?since=${snapshot.version}`)
  const visit = await stage.visit(`/app/keys/${id}`, { as: person })
  await visit.press('Revoke key')
  await visit.text('1 live node')
  await visit.look('key-revoke')
  await visit.page.clock.install()
  await visit.fill('Reason (optional)', 'left the company')
  await visit.press('Revoke for good')
  await visit.text('The service has revoked the key.')
  await visit.text('0 of 1 nodes refuse it.')
  await visit.page.getByRole('dialog').getByText('api-1').waitFor()
  // However long the last answer took: people count from the revocation.
  await visit.page.clock.fastForward(90_000)
  await feed(`delta?since=${snapshot.version + 1}`)
  await visit.page.getByText(/^The node refuses it, after (9\d|\d{3,})\.\d s\.$/).waitFor()
  await visit.look('key-revoked')
  await visit.press('Done')
  await visit.text('left the company')
  assert.equal(await visit.page.getByRole('button', { name: 'Revoke key' }).count(), 0)
  await visit.leave()
})

test('a person pauses a key, reads which nodes refuse it, and resumes it', async () => {
  const { vendor, person } = await makeOne()
  const { id } = await issueKey(harness, vendor, { name: 'Billing' })
  const read = async () => (await ask('GET', `/v1/keys/${id}`, { token: vendor.live })).body
  const visit = await stage.visit(`/app/keys/${id}`, { as: person })
  await visit.press('Pause key')
  await visit.text('Resume it at any time')
  await visit.look('key-pause')
  await visit.fill('Reason (optional)', 'unpaid invoice')
  await visit.page.getByRole('dialog').getByRole('button', { name: 'Pause key' }).click()
  await visit.text('The service has paused the key.')
  await visit.text('No live node holds it.')
  await visit.press('Done')
  await visit.text('unpaid invoice')
  await visit.look('key-paused')
  assert.equal((await read()).disabled_by, 'vendor')
  for (const name of ['Rotate key', 'Pause key'])
    assert.equal(await visit.page.getByRole('button', { name }).count(), 0, name)

  await visit.page.goto(`${stage.url}/app/keys?status=disabled`)
  await visit.page.getByRole('link', { name: 'Billing' }).waitFor()
  await visit.page.getByRole('cell', { name: 'Paused' }).waitFor()
  await visit.look('keys-paused')
  for (const owner of [`tenants/${vendor.tenantId}`, `projects/${vendor.projectId}`]) {
    await visit.page.goto(`${stage.url}/app/${owner}`)
    await visit.page.getByRole('row', { name: 'Billing' }).getByText('Paused').waitFor()
  }
  await visit.page.goto(`${stage.url}/app/keys?status=disabled`)
  await visit.page.getByRole('link', { name: 'Billing' }).click()
  await visit.press('Resume key')
  await visit.look('key-resume')
  await visit.page.getByRole('dialog').getByRole('button', { name: 'Resume key' }).click()
  await visit.page.getByRole('button', { name: 'Pause key' }).waitFor()
  assert.equal((await read()).disabled_at, null)
  await visit.text('Paused: unpaid invoice')
  await visit.leave()
})

test('a fleet of more nodes than one page has is counted with a plus', async () => {
  const { vendor, person } = await makeOne()
  const { id } = await issueKey(harness, vendor, { name: 'Billing' })
  const project = `project_id=${vendor.projectId}&node=api-1`
  await ask('GET', `/v1/policy/snapshot?max_keys=100&${project}`, { token: vendor.live })
  const visit = await stage.visit(`/app/keys/${id}`, { as: person })
  await visit.page.route('**/nodes?*', async route => {
    const response = await route.fetch()
    await route.fulfill({ response, json: { ...(await response.json()), next_cursor: 'more' } })
  })
  await visit.press('Revoke key')
  await visit.text('1+ live nodes')
  await visit.press('Revoke for good')
  await visit.text(' of 1+ nodes refuse it.')
  await visit.leave()
})

test('a member reads keys and why they cannot be changed', async () => {
  const { vendor, person } = await makeOne('member')
  const { id } = await issueKey(harness, vendor, { name: 'Billing' })
  const visit = await stage.visit('/app/keys', { as: person })
  await visit.text('You see keys as a member.')
  await visit.page.getByRole('link', { name: 'Billing' }).waitFor()
  assert.equal(await visit.page.getByRole('button', { name: 'Create key' }).count(), 0)
  await visit.page.goto(`/app/keys/${id}`)
  await visit.text('You see this key as a member.')
  assert.equal(await visit.page.getByRole('button', { name: 'Edit' }).count(), 0)
  await visit.look('key-member')
  await visit.leave()
})
