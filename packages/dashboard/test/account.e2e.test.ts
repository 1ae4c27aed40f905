import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addMember, madePassword, makePerson, openSession } from '../../server/test/people.ts'
import { makeVendor } from '../../server/test/vendor.ts'
import { look } from './look.ts'
import { openStage } from './stage.ts'

const stage = await openStage()
const { query } = stage.harness
const acme = await makeVendor(stage.harness)
const makeMember = (name: string, role: 'owner' | 'admin' | 'member') =>
  makePerson(query, { workspaceId: acme.workspaceId, role, name, email: `${name}@example.com` })

test('a person changes the password, and sees and ends other sessions', async () => {
  const ann = await makeMember('ann', 'owner')
  for (let others = 0; others < 3; others++) await openSession(query, ann.userId, acme.workspaceId)
  const visit = await stage.visit('/app/account', { as: ann })
  await visit.page.getByText('This one').waitFor()
  await visit.look('account')
  const endings = visit.page.getByRole('button', { name: /^End the session of/ })
  await endings.first().click()
  await visit.press('End all other sessions')
  await visit.look('end-sessions')
  await visit.press('End sessions')
  await visit.page.getByRole('dialog').waitFor({ state: 'detached' })
  await visit.text('2 other sessions ended.')
  await endings.first().waitFor({ state: 'detached' })
  await visit.page.getByText('This one', { exact: true }).waitFor()
  await visit.fill('Current password', 'not the one')
  await visit.fill('New password', 'another long enough word')
  await visit.press('Change password')
  await visit.text('This is not your password.')
  await visit.fill('Current password', madePassword)
  await visit.press('Change password')
  await visit.text('Your password is changed.')
  await visit.leave()
})

test('a person in any role leaves after typing the name, and lands where they still belong', async () => {
  const [bea, cyd] = [await makeMember('bea', 'owner'), await makeMember('cyd', 'member')]
  const other = await makeVendor(stage.harness)
  await query('update workspaces set name = $2 where id = $1', [other.workspaceId, 'Other'])
  await addMember(query, other.workspaceId, cyd.userId, 'member')
  const member = await stage.visit('/app/account', { as: cyd })
  await member.press('Leave Acme')
  await member.look('leave-as-member')
  await member.fill('Type Acme to confirm', 'Acme')
  await member.press('Leave workspace')
  await member.page.getByRole('button', { name: 'Workspace: Other' }).waitFor()
  await member.leave()

  const visit = await stage.visit('/app/account', { as: bea })
  await visit.press('Leave Acme')
  assert.ok(await visit.page.getByRole('button', { name: 'Leave workspace' }).isDisabled())
  await visit.fill('Type Acme to confirm', 'Acme')
  await visit.look('leave')
  await visit.press('Leave workspace')
  await visit.heading('Create your workspace')
  await visit.leave()
})

test('the last owner cannot leave, and reads why', async () => {
  const sole = await makeVendor(stage.harness)
  const as = await makePerson(query, { workspaceId: sole.workspaceId, role: 'owner' })
  const visit = await stage.visit('/app/account', { as })
  await visit.press('Leave Acme')
  await visit.fill('Type Acme to confirm', 'Acme')
  await visit.press('Leave workspace')
  await visit.text('A workspace keeps at least one owner.')
  await visit.look('leave-refused')
  await visit.leave()
})

test('the shell leads everywhere by keyboard, and says which environment it shows', async () => {
  const dan = await makeMember('dan', 'admin')
  const visit = await stage.visit('/app/', { as: dan })
  await visit.heading('Overview')
  await visit.page.keyboard.press('Control+k')
  // Until then, what is typed goes to the page behind.
  await visit.page.getByPlaceholder('Find a').and(visit.page.locator(':focus')).waitFor()
  await visit.page.keyboard.type('audit')
  await visit.page.getByRole('option', { name: 'Audit log' }).waitFor()
  await visit.look('palette')
  await visit.page.keyboard.press('Enter')
  await visit.heading('Audit log')
  await visit.page.getByRole('navigation', { name: 'Keyrail' }).getByText('Test', { exact: true }).click()
  await visit.text('Test environment')
  assert.match(visit.page.url(), /\/app\/audit-log\?env=test$/)
  await visit.page.getByRole('link', { name: 'Members' }).click()
  await visit.heading('Members')
  assert.match(visit.page.url(), /\/app\/settings\/members\?env=test$/)
  await visit.look('test-environment')
  await visit.page.setViewportSize({ width: 375, height: 800 })
  await visit.press('Open the menu')
  await visit.page.getByRole('link', { name: 'Projects' }).click()
  await visit.heading('Projects')
  await visit.page.getByRole('button', { name: 'Open the menu' }).waitFor()
  await visit.leave()
})

test('a person chooses light, dark or the system, and the choice stays', async () => {
  const gus = await makeMember('gus', 'member')
  const visit = await stage.visit('/app/', { as: gus, colorScheme: 'dark' })
  const { page } = visit
  const shown = (scheme: string) => page.locator(`html[data-mantine-color-scheme="${scheme}"]`).waitFor()
  await visit.heading('Overview')
  await shown('dark')
  for (const [button, entry] of [
    ['Theme', 'Like the system'],
    ['Account of gus', 'Sign out'],
    ['Workspace: Acme', 'New workspace'],
  ] as const) {
    await visit.press(button)
    await page.getByRole(button === 'Theme' ? 'menuitemradio' : 'menuitem', { name: entry }).waitFor()
    await look(page, `menu-${entry}`, [
      ['light', 1_280],
      ['dark', 1_280],
    ])
    await page.keyboard.press('Escape')
  }
  for (const [choice, scheme] of [
    ['Light', 'light'],
    ['Dark', 'dark'],
    ['Like the system', 'light'],
  ] as const) {
    await page.emulateMedia({ colorScheme: choice === 'Dark' ? 'light' : 'dark' })
    await visit.press('Theme')
    await page.getByRole('menuitemradio', { name: choice }).click()
    if (choice === 'Like the system') await page.emulateMedia({ colorScheme: 'light' })
    await shown(scheme)
    await page.reload()
    await visit.heading('Overview')
    await shown(scheme)
  }
  await visit.leave()
})

test('an unknown address is a page of the dashboard that leads back', async () => {
  const eve = await makeMember('eve', 'member')
  const visit = await stage.visit('/app/nothing-here', { as: eve })
  await visit.heading('Page not found')
  await visit.look('not-found')
  await visit.leave()
})

test('a form that cannot reach the service says so, and keeps what was typed', async () => {
  const fay = await makeMember('fay', 'member')
  const visit = await stage.visit('/app/account', { as: fay })
  await visit.page.getByText('This one').waitFor()
  await visit.fill('Name', 'Fay the Second')
  await visit.page.context().setOffline(true)
  await visit.press('Save name')
  await visit.text('Keyrail cannot be reached.')
  await visit.look('unreachable')
  await visit.page.context().setOffline(false)
  await visit.press('Save name')
  await visit.text('Your name is saved.')
  assert.deepEqual(await query('select name from users where id = $1', [fay.userId]), [
    { name: 'Fay the Second' },
  ])
  await visit.leave()
})
