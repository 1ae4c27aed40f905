import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { addMember, madePassword, makePerson } from '../../server/test/people.ts'
import { makeVendor } from '../../server/test/vendor.ts'
import { openStage } from './stage.ts'

const stage = await openStage()
const { query } = stage.harness
const acme = await makeVendor(stage.harness)

const makeAnn = (name: string) =>
  makePerson(query, { workspaceId: acme.workspaceId, role: 'owner', name, email: `${name}@example.com` })
const endSessions = (userId: string) =>
  query('update sessions set ended_at = service_now() where user_id = $1', [userId])

test('the session stays on this device only if the person wants that', async () => {
  const bea = await makeAnn('bea')
  const visit = await stage.visit('/app/')
  await visit.fill('E-mail address', bea.email)
  await visit.fill('Password', madePassword)
  await visit.press('Sign in')
  await visit.heading('Overview')
  assert.equal(await visit.page.evaluate(`localStorage.getItem('keyrail.session')`), null)
  await visit.page.getByRole('button', { name: 'Account of bea' }).click()
  await visit.page.getByRole('menuitem', { name: 'Sign out' }).click()
  await visit.heading('Sign in')

  await visit.fill('E-mail address', bea.email)
  await visit.fill('Password', madePassword)
  await visit.page.getByLabel('Keep me signed in on this device').check()
  await visit.press('Sign in')
  await visit.heading('Overview')
  await visit.page.close()
  const tab = await visit.newTab('/app/')
  await tab.getByRole('heading', { name: 'Overview', level: 1 }).waitFor()
  await visit.leave()
})

test('a link that a person opens in another tab is signed in there', async () => {
  const ida = await makeAnn('ida')
  const visit = await stage.visit('/app/', { as: ida })
  const { page } = visit
  await visit.heading('Overview')
  const [tab] = await Promise.all([
    page.context().waitForEvent('page'),
    page.getByRole('link', { name: 'Tenants', exact: true }).click({ button: 'middle' }),
  ])
  await tab.getByRole('heading', { name: 'Tenants', level: 1 }).waitFor()
  await visit.heading('Overview')
  await visit.leave()
})

/** Also while the page asks for a sign-in already, since a request of its frame may have found the session ended first. */
const saveName = ({ page }: { page: Page }) =>
  page.getByRole('button', { name: 'Save name', exact: true }).dispatchEvent('click')

test('a session that ends asks for a sign-in over the page, which keeps what was typed', async () => {
  const cyd = await makeAnn('cyd')
  const visit = await stage.visit('/app/account', { as: cyd })
  await visit.heading('Account')
  await visit.fill('Name', 'Cyd the Second')
  await endSessions(cyd.userId)
  await saveName(visit)
  await visit.text('Your session has ended')
  await visit.look('session-ended')
  await visit.page.getByRole('dialog').getByLabel('Password', { exact: true }).fill(madePassword)
  await visit.press('Sign in')
  await visit.text('Your name is saved.')
  assert.equal(await visit.page.getByLabel('Name', { exact: true }).inputValue(), 'Cyd the Second')
  assert.deepEqual(await query('select name from users where id = $1', [cyd.userId]), [
    { name: 'Cyd the Second' },
  ])
  await visit.leave()
})

test('another person who signs in over a page does not see it', async () => {
  const [dan, eve] = [await makeAnn('dan'), await makeAnn('eve')]
  const visit = await stage.visit('/app/account', { as: dan })
  await visit.heading('Account')
  await endSessions(dan.userId)
  await saveName(visit)
  await visit.page.getByRole('dialog').getByLabel('E-mail address').fill(eve.email)
  await visit.page.getByRole('dialog').getByLabel('Password', { exact: true }).fill(madePassword)
  await visit.press('Sign in')
  await visit.heading('Overview')
  await visit.page.getByRole('button', { name: 'Account of eve' }).waitFor()
  await visit.assertForgotten('dan@example.com')
  await visit.leave()
})

test('a page that waits for its first answer starts again for another person', async () => {
  const [uma, vic] = [await makeAnn('uma'), await makeAnn('vic')]
  const visit = await stage.visit('/app/account', { as: uma })
  await visit.page.getByRole('button', { name: 'Account of uma' }).waitFor()
  const answered = Promise.withResolvers<void>()
  const asked = Promise.withResolvers<void>()
  await visit.page.route(
    '**/v1/auth/me',
    async route => {
      const answer = await route.fetch()
      asked.resolve()
      await answered.promise
      await route.fulfill({ response: answer }).catch(() => {})
    },
    { times: 1 },
  )
  const loaded = visit.page.reload({ waitUntil: 'commit' })
  await Promise.all([loaded, asked.promise])
  const tab = await visit.newTab('/app/account')
  await tab.evaluate(
    session => {
      sessionStorage.setItem('keyrail.session', JSON.stringify(session))
      new BroadcastChannel('keyrail.session').postMessage({ type: 'started', session })
    },
    { token: vic.token, userId: vic.userId },
  )
  answered.resolve()
  await visit.page.getByRole('button', { name: 'Account of vic' }).waitFor()
  await visit.assertForgotten('uma@example.com')
  await visit.leave()
})

test('a switch of the workspace in one tab stops the others before they change anything', async () => {
  const fay = await makeAnn('fay')
  const other = await makeVendor(stage.harness)
  await stage.harness.ask('PATCH', '/v1/workspace', { token: other.live, body: { name: 'Bolt' } })
  await addMember(query, other.workspaceId, fay.userId, 'owner')
  const visit = await stage.visit('/app/tenants', { as: fay })
  await visit.press('Create tenant')
  await visit.fill('Your id', 'org_of_fay')

  const tab = await visit.newTab('/app/')
  await tab.getByRole('button', { name: 'Workspace: Acme' }).click()
  await tab.getByRole('menuitem', { name: 'Bolt' }).click()
  await tab.getByRole('button', { name: 'Workspace: Bolt' }).waitFor()

  await visit.page.getByRole('dialog').getByRole('button', { name: 'Create tenant' }).click()
  await visit.text('You switched to another workspace')
  await visit.look('workspace-changed')
  const made = await query(`select 1 from tenants where external_id = 'org_of_fay'`)
  assert.equal(made.length, 0)
  await visit.press('Go to the other workspace')
  await visit.page.getByRole('button', { name: 'Workspace: Bolt' }).waitFor()
  await visit.leave()
})

test('a person goes on in the workspace of a stale tab, and the change is made there, once', async () => {
  const hal = await makeAnn('hal')
  const other = await makeVendor(stage.harness)
  await stage.harness.ask('PATCH', '/v1/workspace', { token: other.live, body: { name: 'Bolt' } })
  await addMember(query, other.workspaceId, hal.userId, 'owner')
  const visit = await stage.visit('/app/tenants', { as: hal })
  await visit.press('Create tenant')
  await visit.fill('Your id', 'org_of_hal')
  await visit.fill('Name (optional)', 'Globex')

  const tab = await visit.newTab('/app/')
  await tab.getByRole('button', { name: 'Workspace: Acme' }).click()
  await tab.getByRole('menuitem', { name: 'Bolt' }).click()
  await tab.getByRole('button', { name: 'Workspace: Bolt' }).waitFor()

  const made = () => query(`select workspace_id, name from tenants where external_id = 'org_of_hal'`)
  await visit.page.locator('form').getByRole('button', { name: 'Create tenant' }).click()
  await visit.text('You switched to another workspace')
  assert.deepEqual(await made(), [])
  await visit.press('Go on in Acme')
  await visit.heading('Globex')
  assert.deepEqual(await made(), [{ workspace_id: acme.workspaceId, name: 'Globex' }])

  // The other tab is the stale one now.
  await tab.getByRole('link', { name: 'Keys', exact: true }).click()
  await tab.getByText('You switched to another workspace').waitFor()
  await tab.getByRole('button', { name: 'Go to the other workspace' }).click()
  await tab.getByRole('button', { name: 'Workspace: Acme' }).waitFor()
  await visit.leave()
})

test('a person of several workspaces chooses one after the sign-in', async () => {
  const other = await makeVendor(stage.harness)
  await stage.harness.ask('PATCH', '/v1/workspace', { token: other.live, body: { name: 'Bolt' } })
  const gil = await makePerson(query, { email: 'gil@example.com', workspaceId: acme.workspaceId })
  await addMember(query, other.workspaceId, gil.userId, 'admin')
  await query('update sessions set acts_in = null where user_id = $1', [gil.userId])
  const visit = await stage.visit('/app/keys', { as: gil })
  await visit.heading('Choose a workspace')
  await visit.look('choose-workspace')
  await visit.page.getByRole('button', { name: 'Bolt' }).click()
  await visit.page.getByRole('button', { name: 'Workspace: Bolt' }).waitFor()
  await visit.leave()
})
