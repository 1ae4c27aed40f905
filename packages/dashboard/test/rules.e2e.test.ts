import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makePerson } from '../../server/test/people.ts'
import { issueKey, makeVendor, type Vendor } from '../../server/test/vendor.ts'
import { openStage } from './stage.ts'

const stage = await openStage()
const { harness } = stage
const { ask, query } = harness
const makeOne = async () => {
  const vendor = await makeVendor(harness)
  const person = await makePerson(query, { workspaceId: vendor.workspaceId, role: 'admin', name: 'Ann' })
  return { vendor, person }
}
/** Ids begin with the time at which a key was made, as those of the service. */
const makeOld = (vendor: Vendor, name: string, days: number) =>
  query(
    `insert into api_keys (workspace_id, id, project_id, tenant_id, env, name, display_prefix, lookup_hash, created_at, updated_at,
       idle_since)
     select $1, (lpad(to_hex((extract(epoch from made) * 1000)::bigint), 12, '0') || '7' || substr(md5($4), 1, 3) || '8'
         || substr(md5($4), 4, 15))::uuid,
       $2, $3, 'live', $4, 'kr_live_abcd', sha256($4::bytea), made, made, made
     from (select now() - $5 * interval '1 day' as made) m`,
    [vendor.workspaceId, vendor.projectId, vendor.tenantId, name, days],
  )

test('an admin limits how long keys live, and the form of a key says what it gets', async () => {
  const { vendor, person } = await makeOne()
  const visit = await stage.visit(`/app/projects/${vendor.projectId}`, { as: person })
  const { page } = visit
  await visit.press('Edit')
  const days = page.getByLabel('Days that a key lives at most (optional)')
  await days.fill('0')
  await visit.press('Save project')
  await visit.text('A whole number from 1 to 3650.')
  await days.fill('60')
  await visit.text('Older keys, made before this rule, work.')
  await page.getByLabel('Refuse keys that are older').check()
  await visit.look('project-rules')
  await visit.press('Save project')
  await visit.text('The project is saved.')
  await visit.text('At most 60 days. Older keys are refused.')
  const { body } = await ask('GET', `/v1/projects/${vendor.projectId}`, { token: vendor.live })
  assert.deepEqual([body.max_key_lifetime_days, body.lifetime], [60, 'refuse'])

  await page.goto(`/app/keys?project=${vendor.projectId}&tenant=${vendor.tenantId}`)
  await visit.press('Create key')
  const dialog = page.getByRole('dialog')
  await visit.text('The key ends 60 days after it is made, as its project says.')
  assert.deepEqual(await dialog.getByLabel('Expires').getByRole('option').allTextContents(), [
    'In 60 days, the longest',
    'In 7 days',
    'In 30 days',
    'On a date',
  ])
  await visit.look('key-longest')
  await dialog.getByLabel('Expires').selectOption('On a date')
  await dialog.getByLabel('Date and time of the end').fill('2099-01-01T00:00')
  await dialog.getByRole('button', { name: 'Create key' }).click()
  await dialog.getByText(/at most 60 days after the key was made/).waitFor()
  await dialog.getByLabel('Expires').selectOption('In 60 days, the longest')
  await dialog.getByRole('button', { name: 'Create key' }).click()
  await visit.text('Your new live key')
  await page.getByLabel('I have stored it').check()
  await visit.press('Done')
  await visit.leave()
})

test('a key from before the rule says until when it works', async () => {
  const { vendor, person } = await makeOne()
  const { id } = await issueKey(harness, vendor)
  const body = { max_key_lifetime_days: 30 }
  await ask('PATCH', `/v1/projects/${vendor.projectId}`, { token: vendor.live, body })
  const visit = await stage.visit(`/app/keys/${id}`, { as: person })
  await visit.press('Edit')
  await visit.page.getByText(/works until someone revokes it\. From .+ on its project lists it/).waitFor()
  await visit.press('Cancel')
  await ask('PATCH', `/v1/projects/${vendor.projectId}`, { token: vendor.live, body: { lifetime: 'refuse' } })
  await visit.page.reload()
  await visit.page.getByText('Too old', { exact: true }).waitFor()
  await visit.look('key-too-old-soon')
  await visit.press('Edit')
  await visit.page.getByText(/is refused from .+ on, when it is too old for its project/).waitFor()
  await visit.press('Cancel')
  await visit.leave()
})

test('a protected project and a protected tenant are deleted by nobody', async () => {
  const { vendor, person } = await makeOne()
  const paths = { projects: vendor.projectId, tenants: vendor.tenantId }
  const visit = await stage.visit('/app/', { as: person })
  const { page } = visit
  for (const [noun, id] of Object.entries(paths)) {
    await page.goto(`/app/${noun}/${id}`)
    const remove = page.getByRole('button', { name: `Delete ${noun.slice(0, -1)}` })
    const protection = page.getByLabel('Protected from deletion')
    assert.equal(await remove.isEnabled(), true)
    await protection.check()
    await page.locator('button:disabled', { hasText: 'Delete' }).waitFor()
    await visit.look(`${noun}-protected`)
    const { status } = await ask('DELETE', `/v1/${noun}/${id}`, { token: vendor.live })
    assert.equal(status, 409)
    await page.reload()
    await protection.uncheck()
    await page.locator('button:enabled', { hasText: 'Delete' }).waitFor()
  }
  await visit.leave()
})

test('what needs attention leads to its list, and there to its bulk action', async () => {
  const { vendor, person } = await makeOne()
  await issueKey(harness, vendor, { name: 'Young', expires_at: '2099-01-01T00:00:00Z' })
  await makeOld(vendor, 'Older', 150)
  await makeOld(vendor, 'Oldest', 200)
  const body = { max_key_lifetime_days: 100 }
  await ask('PATCH', `/v1/projects/${vendor.projectId}`, { token: vendor.live, body })
  const visit = await stage.visit('/app/', { as: person })
  const { page } = visit
  const line = page.getByRole('listitem').filter({ hasText: 'are older than' })
  await line.getByText('2 keys are older than').waitFor()
  await visit.look('overview-too-old')
  await line.getByRole('link').click()
  await visit.heading('Keys')
  const rows = async () => await page.getByRole('row').locator('a').allTextContents()
  await page.getByText('Oldest').waitFor()
  assert.deepEqual(await rows(), ['Oldest', 'Older'])
  await visit.look('keys-too-old')
  await page.getByRole('combobox', { name: 'By status' }).click()
  await page.getByRole('option', { name: 'Never used in 90 days' }).click()
  await page.waitForURL(/hygiene=unused/)
  await page.getByRole('checkbox', { name: 'Select all rows' }).click()
  await visit.press('Pause')
  await page.getByRole('dialog').getByRole('button', { name: 'Pause 2 keys' }).click()
  await page.getByText('Oldest').waitFor({ state: 'detached' })
  await visit.leave()
})
