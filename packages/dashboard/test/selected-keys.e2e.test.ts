import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makePerson } from '../../server/test/people.ts'
import { issueKey, makeTenant, makeVendor } from '../../server/test/vendor.ts'
import { insertKeys } from './many.ts'
import { openStage, type Visit } from './stage.ts'

const stage = await openStage()
const { harness } = stage
const { query } = harness
const makeOne = async (role: 'admin' | 'member' = 'admin') => {
  const vendor = await makeVendor(harness)
  return { vendor, person: await makePerson(query, { workspaceId: vendor.workspaceId, role, name: 'Ann' }) }
}
const stateOf = async (workspaceId: string) =>
  (
    await query(
      `select count(disabled_at)::int as paused, count(revoked_at)::int as revoked from api_keys where workspace_id = $1`,
      [workspaceId],
    )
  )[0]
const box = ({ page }: Visit, name: string) => page.getByRole('checkbox', { name })
const inDialog = ({ page }: Visit, name: string | RegExp) =>
  page.getByRole('dialog').getByRole('button', { name })

test('a person selects rows by mouse and keyboard, pauses them, and resumes them at once', async () => {
  const { vendor, person } = await makeOne()
  for (const name of ['One', 'Two', 'Three', 'Four']) await issueKey(harness, vendor, { name })
  const visit = await stage.visit('/app/keys', { as: person })
  await box(visit, 'Select Four').click()
  await visit.text('1 selected')
  await box(visit, 'Select Two').click({ modifiers: ['Shift'] })
  await visit.text('3 selected')
  await box(visit, 'Select Three').focus()
  await visit.page.keyboard.press('Space')
  await visit.text('2 selected')
  await visit.look('keys-selected')
  await visit.press('Pause')
  await visit.text('2 keys of those that you selected.')
  await visit.look('keys-pause-many')
  await visit.fill('Reason (optional)', 'unpaid')
  await inDialog(visit, 'Pause 2 keys').click()
  await visit.page.getByRole('dialog').getByText('2 keys are paused.').waitFor()
  await visit.look('keys-paused-many')
  await inDialog(visit, 'Done').click()
  assert.deepEqual(await stateOf(vendor.workspaceId), { paused: 2, revoked: 0 })
  await visit.press('Resume them')
  await visit.text('2 keys are resumed.')
  assert.deepEqual(await stateOf(vendor.workspaceId), { paused: 0, revoked: 0 })
  await visit.leave()
})

test('a pause of more keys than one batch is taken back, and followed to its end', async () => {
  const { vendor, person } = await makeOne()
  await insertKeys(harness, vendor, 227)
  const visit = await stage.visit('/app/keys', { as: person })
  await box(visit, 'Select all rows').click()
  await visit.press('Select all 227 that match')
  await visit.press('Pause')
  await inDialog(visit, 'Pause 227 keys').click()
  await visit.page.getByRole('dialog').getByText('227 keys are paused.', { exact: true }).waitFor()
  await inDialog(visit, 'Done').click()
  const states = visit.page.getByRole('region', { name: 'Keys' }).locator('tbody')
  await states.getByText('Paused').nth(49).waitFor()
  const looked = Promise.withResolvers<void>()
  // As if somebody revoked two of them meanwhile.
  await visit.page.route('**/v1/keys/bulk/*', async route => {
    await looked.promise
    const answer = await route.fetch()
    const operation = await answer.json()
    if (operation.status === 'running') return route.fulfill({ response: answer })
    return route.fulfill({ response: answer, json: { ...operation, done: 225, failed: 2 } })
  })
  await visit.press('Resume them')
  await visit.text('227 keys are being resumed.')
  await visit.look('keys-resuming')
  looked.resolve()
  await visit.text('225 keys are resumed. 2 keys could not be.')
  await visit.look('keys-resumed')
  await states.getByText('Active').nth(49).waitFor()
  assert.equal(await states.getByText('Paused').count(), 0)
  assert.deepEqual(await stateOf(vendor.workspaceId), { paused: 0, revoked: 0 })
  await visit.leave()
})

test('a pause whose dialog is closed while it runs is still offered to be taken back', async () => {
  const { vendor, person } = await makeOne()
  await insertKeys(harness, vendor, 227)
  const visit = await stage.visit('/app/keys', { as: person })
  const looked = Promise.withResolvers<void>()
  await visit.page.route('**/v1/keys/bulk/*', async route => {
    await looked.promise
    return route.continue()
  })
  await box(visit, 'Select all rows').click()
  await visit.press('Select all 227 that match')
  await visit.press('Pause')
  await inDialog(visit, 'Pause 227 keys').click()
  await visit.page.getByRole('dialog').getByText('It goes on when you close this.').waitFor()
  await inDialog(visit, 'Done').click()
  await visit.page.getByRole('dialog').waitFor({ state: 'detached' })
  looked.resolve()
  await visit.text('227 keys are paused.')
  await visit.look('keys-paused-behind')
  await visit.press('Resume them')
  await visit.text('227 keys are resumed.')
  assert.deepEqual(await stateOf(vendor.workspaceId), { paused: 0, revoked: 0 })
  await visit.leave()
})

test('what somebody else has paused stays so when a pause of selected rows is taken back', async () => {
  const { vendor, person } = await makeOne()
  for (const name of ['One', 'Two', 'Three']) await issueKey(harness, vendor, { name })
  const visit = await stage.visit('/app/keys', { as: person })
  await box(visit, 'Select all rows').click()
  await query(
    `update api_keys set disabled_at = service_now() - interval '1 hour',
       disabled_by = case name when 'One' then 'vendor' else 'tenant' end
     where workspace_id = $1 and name <> 'Three'`,
    [vendor.workspaceId],
  )
  await visit.press('Pause')
  await inDialog(visit, 'Pause 3 keys').click()
  await inDialog(visit, 'Done').click()
  await visit.press('Resume them')
  await visit.text('1 key is resumed.')
  const paused = await query(
    'select name from api_keys where workspace_id = $1 and disabled_at is not null order by name',
    [vendor.workspaceId],
  )
  assert.deepEqual(paused, [{ name: 'One' }, { name: 'Two' }])
  await visit.leave()
})

test('a pause by hygiene, which leaves out paused keys, offers no way back that would fail', async () => {
  const { vendor, person } = await makeOne()
  await insertKeys(harness, vendor, 60)
  const visit = await stage.visit('/app/keys?hygiene=never_expires', { as: person })
  await box(visit, 'Select all rows').click()
  await visit.press('Select all 60 that match')
  await visit.press('Pause')
  await inDialog(visit, 'Pause 60 keys').click()
  await visit.page.getByRole('dialog').getByText('60 keys are paused.', { exact: true }).waitFor()
  await visit.text('To resume any of them, filter Keys by Paused.')
  await visit.look('keys-paused-for-good')
  await inDialog(visit, 'Done').click()
  assert.equal((await stateOf(vendor.workspaceId)).paused, 60)
  assert.equal(await visit.page.getByRole('button', { name: 'Resume them' }).count(), 0)
  await visit.leave()
})

test('a person revokes all that match, typing how many, and sees how far it is', async () => {
  const { vendor, person } = await makeOne()
  await insertKeys(harness, vendor, 450)
  const visit = await stage.visit('/app/keys', { as: person })
  await box(visit, 'Select all rows').click()
  await visit.text('50 selected')
  await visit.press('Select all 450 that match')
  await visit.text('All 450 keys that match')
  assert.equal(await box(visit, 'Select all rows').isChecked(), true)
  await visit.press('Revoke')
  await visit.text('450 keys, as the service counts.')
  assert.equal(await inDialog(visit, 'Revoke 450 keys').isEnabled(), false)
  await visit.fill('Type revoke 450 keys to confirm', 'revoke 450 keys')
  await visit.look('keys-revoke-many')
  await inDialog(visit, 'Revoke 450 keys').click()
  await visit.page.getByRole('dialog').getByText('450 keys are revoked.', { exact: true }).waitFor()
  assert.deepEqual(await stateOf(vendor.workspaceId), { paused: 0, revoked: 450 })
  await inDialog(visit, 'Done').click()
  assert.equal(await visit.page.getByRole('button', { name: 'Resume them' }).count(), 0)
  await visit.leave()
})

test('a change is refused when the keys have become more, and is made with the new number', async () => {
  const { vendor, person } = await makeOne()
  const tenant = await makeTenant(harness, vendor, { name: 'Globex' })
  await issueKey(harness, vendor, { tenant_id: tenant.id })
  const visit = await stage.visit(`/app/tenants/${tenant.id}`, { as: person, mayFail: /keys\/disable/ })
  await visit.press('Pause all keys')
  await visit.text('1 key, as the service counts.')
  await issueKey(harness, vendor, { tenant_id: tenant.id })
  await inDialog(visit, 'Pause 1 key').click()
  await visit.text('2 keys, as the service counts.')
  await visit.look('tenant-pause-all')
  await inDialog(visit, 'Pause 2 keys').click()
  await visit.page.getByRole('dialog').getByText('2 keys are paused.').waitFor()
  assert.equal((await stateOf(vendor.workspaceId)).paused, 2)
  await visit.leave()
})

test('a member has no boxes to select keys with', async () => {
  const { vendor, person } = await makeOne('member')
  await issueKey(harness, vendor, { name: 'One' })
  const visit = await stage.visit('/app/keys', { as: person })
  await visit.page.getByRole('link', { name: 'One' }).waitFor()
  assert.equal(await visit.page.getByRole('checkbox').count(), 0)
  await visit.leave()
})
