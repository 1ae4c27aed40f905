import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makePerson } from '../../server/test/people.ts'
import { makeSecretKey, makeVendor } from '../../server/test/vendor.ts'
import { openStage } from './stage.ts'

const stage = await openStage()
const { harness } = stage
const { query } = harness
const makeMember = (workspaceId: string, name: string, role: 'owner' | 'admin' | 'member') =>
  makePerson(query, { workspaceId, role, name, email: `${name.toLowerCase()}@example.com` })

test('an owner invites a person, copies the link once, sends another and revokes it', async () => {
  const acme = await makeVendor(harness)
  const ann = await makeMember(acme.workspaceId, 'Ann', 'owner')
  const visit = await stage.visit('/app/settings/members', { as: ann })
  await visit.text('No invitations')
  await visit.press('Invite person')
  await visit.fill('E-mail address', 'ann@example.com')
  await visit.press('Send invitation')
  await visit.text('This person is a member already.')
  await visit.fill('E-mail address', 'zoe@example.com')
  await visit.page.getByLabel('Role', { exact: true }).selectOption('admin')
  await visit.look('invite')
  await visit.press('Send invitation')

  await visit.text('Copy the link now.')
  await visit.look('invitation-link')
  const first = await visit.shownOnce()
  assert.ok(first.startsWith(`${stage.url}/accept-invite#token=`))
  await visit.store()
  await visit.assertForgotten(first.slice(first.indexOf('token=')))

  await visit.press('Resend the invitation for zoe@example.com')
  await visit.text('Copy the link now.')
  const second = await visit.shownOnce()
  assert.notEqual(second, first)
  await visit.store()
  await visit.assertForgotten(second.slice(second.indexOf('token=')))
  await visit.press('Revoke the invitation for zoe@example.com')
  await visit.press('Revoke invitation')
  await visit.page
    .getByRole('button', { name: 'Revoke the invitation for zoe@example.com' })
    .waitFor({ state: 'detached' })
  assert.deepEqual(
    await query('select role, revoked_at is null as open from workspace_invites where workspace_id = $1', [
      acme.workspaceId,
    ]),
    [
      { role: 'admin', open: false },
      { role: 'admin', open: false },
    ],
  )
  await visit.leave()
})

test('an owner removes a person, then sees and revokes each secret key that lives on', async () => {
  const acme = await makeVendor(harness)
  const bob = await makeMember(acme.workspaceId, 'Bob', 'owner')
  const cyd = await makeMember(acme.workspaceId, 'Cyd', 'admin')
  const left = await makeSecretKey(harness, { live: cyd.token }, { name: 'nightly export' })
  const kept = await makeSecretKey(harness, { live: cyd.token }, { name: 'billing job' })
  const visit = await stage.visit('/app/settings/members', { as: bob })
  await visit.text('cyd@example.com')
  await visit.look('members')
  await visit.press('Remove Cyd')
  await visit.look('remove-member')
  await visit.press('Remove member')
  await visit.text('These keys still work')
  await visit.text('billing job')
  await visit.press('Revoke nightly export')
  await visit.look('keys-that-live-on')
  await visit.press('Revoke for good: nightly export')
  await visit.page.getByText('Revoked', { exact: true }).waitFor()
  await visit.press('Done')
  await visit.page.getByText('cyd@example.com').waitFor({ state: 'detached' })
  const statusOf = async (token: string) => (await harness.ask('GET', '/v1/workspace', { token })).status
  assert.deepEqual(await Promise.all([left.key, kept.key, cyd.token].map(statusOf)), [401, 200, 403])
  await visit.leave()
})

test('an owner changes a role when they confirm it, and the last owner stays one', async () => {
  const acme = await makeVendor(harness)
  const dan = await makeMember(acme.workspaceId, 'Dan', 'owner')
  const eve = await makeMember(acme.workspaceId, 'Eve', 'admin')
  const roleOf = async (userId: string) =>
    (await query('select role from workspace_members where user_id = $1', [userId]))[0].role
  const visit = await stage.visit('/app/settings/members', { as: dan })
  const role = visit.page.getByLabel('Role of Eve')
  await role.selectOption('member')
  await visit.text('Pending invitations of this person end.')
  await visit.press('Cancel')
  assert.deepEqual([await role.inputValue(), await roleOf(eve.userId)], ['admin', 'admin'])
  await role.selectOption('member')
  await visit.press('Make member')
  await visit.page.getByRole('dialog').waitFor({ state: 'detached' })
  assert.deepEqual([await role.inputValue(), await roleOf(eve.userId)], ['member', 'member'])

  await visit.page.getByLabel('Role of Dan').selectOption('admin')
  await visit.press('Make admin')
  await visit.text('About last_owner')
  await visit.look('last-owner')
  assert.equal(await roleOf(dan.userId), 'owner')
  await visit.leave()
})

test('an admin sees the members, no way to change them, and why', async () => {
  const acme = await makeVendor(harness)
  const fay = await makeMember(acme.workspaceId, 'Fay', 'admin')
  const visit = await stage.visit('/app/settings/members', { as: fay })
  await visit.text('fay@example.com')
  await visit.text('Only an owner can invite, change or remove people.')
  await visit.text('An owner invites people.')
  // The headers of columns sort.
  assert.equal(await visit.page.locator('main button:not(th button)').count(), 0)
  assert.equal(await visit.page.getByLabel(/^Role of/).count(), 0)
  await visit.look('members-as-admin')
  await visit.leave()
})
