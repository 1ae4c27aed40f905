import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { makePerson } from '../../server/test/people.ts'
import { issueKey, makeVendor } from '../../server/test/vendor.ts'
import { openStage } from './stage.ts'

const stage = await openStage()
const { harness } = stage
const { ask, query } = harness

async function makeOne(role: 'owner' | 'admin' | 'member') {
  const vendor = await makeVendor(harness)
  const { workspaceId, live, tenantId } = vendor
  await ask('PATCH', `/v1/tenants/${tenantId}`, { token: live, body: { name: 'Globex' } })
  const person = await makePerson(query, { workspaceId, role, name: 'Ann' })
  await makePerson(query, { workspaceId, role: 'member', name: 'Grace Hopper' })
  return { vendor, person }
}

const field = (page: Page) => page.getByRole('combobox', { name: 'Find', exact: true })
const option = (page: Page, name: string | RegExp) => page.getByRole('option', { name })
/** The text that Enter would choose, as a screen reader hears it. */
const chosen = (page: Page) =>
  page.evaluate(
    `document.getElementById(document.activeElement.getAttribute('aria-activedescendant'))?.textContent`,
  )

test('a person finds keys, tenants, projects and people by keyboard alone', async () => {
  const { vendor, person } = await makeOne('admin')
  const billing = await issueKey(harness, vendor, { name: 'Billing' })
  const trial = await issueKey(harness, vendor, { name: 'Billing trial', env: 'test' })
  const visit = await stage.visit('/app/', { as: person })
  const { page } = visit
  await visit.heading('Overview')
  const find = async (text: string) => {
    await page.keyboard.press('Control+k')
    await field(page).and(page.locator(':focus')).waitFor()
    await page.keyboard.type(text)
  }

  await find('billing')
  await option(page, /^Billing kr_live_.*, live, active$/).waitFor()
  await option(page, /^Billing trial/).waitFor()
  await visit.look('palette')
  assert.match(String(await chosen(page)), /^Billing kr_live_/)
  await page.keyboard.press('ArrowUp')
  assert.match(String(await chosen(page)), /^Billing trial/)
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('Enter')
  await visit.heading('Billing trial')
  assert.match(page.url(), new RegExp(`/app/keys/${trial.id}\\?env=test$`))

  for (const [text, name, address] of [
    [billing.id, /^Billing kr_live_/, `/keys/${billing.id}`],
    [billing.display_prefix, /^Billing kr_live_/, `/keys/${billing.id}`],
    ['glob', /^Globex/, `/tenants/${vendor.tenantId}?env=test`],
    ['payments', /^Payments/, `/projects/${vendor.projectId}?env=test`],
    ['hopper', /^Grace Hopper/, '/settings/members?env=test'],
  ] as const) {
    await find(text)
    await option(page, name).waitFor()
    assert.match(String(await chosen(page)), name)
    await page.keyboard.press('Enter')
    await page.waitForURL(url => `${url.pathname}${url.search}` === `/app${address}`)
    await page.locator('h1:focus').waitFor()
    if (!address.startsWith('/keys')) continue
    await page.goto('/app/?env=test')
    await visit.heading('Overview')
  }

  await find('nothing of this name')
  await visit.text('Nothing found')
  await visit.look('palette-nothing')
  await visit.leave()
})

test('the focus returns from the palette, or goes to the place that it opens', async () => {
  const { vendor, person } = await makeOne('admin')
  const { key, id } = await issueKey(harness, vendor, { name: 'Billing' })
  const visit = await stage.visit('/app/tenants', { as: person })
  const { page } = visit
  await page.getByRole('link', { name: 'Globex' }).focus()
  await page.keyboard.press('Control+k')
  await field(page).waitFor()
  await page.keyboard.press('Escape')
  await field(page).waitFor({ state: 'detached' })
  await page.getByRole('link', { name: 'Globex' }).and(page.locator(':focus')).waitFor()
  await page.keyboard.press('Control+k')
  await field(page).fill('audit')
  await page.keyboard.press('Enter')
  await visit.heading('Audit log')
  await page.getByRole('heading', { name: 'Audit log' }).and(page.locator(':focus')).waitFor()

  // A dialog with a secret, or with what was typed, stays.
  await page.keyboard.press('Control+k')
  await field(page).fill('create secret')
  await page.keyboard.press('Enter')
  await page.getByRole('dialog', { name: 'Create a secret key for live' }).waitFor()
  await page.waitForURL('**/app/settings/secret-keys')
  await page.keyboard.press('Control+k')
  assert.equal(await page.getByRole('dialog').count(), 1)
  await page.keyboard.press('Escape')
  await page.getByRole('dialog').waitFor({ state: 'detached' })

  // The key itself goes to the service in a body.
  await page.keyboard.press('Control+k')
  await field(page).fill(key.slice(0, 20))
  await visit.text('This is more of a key than is stored as text.')
  await field(page).fill(key)
  await visit.heading('Billing')
  assert.match(page.url(), new RegExp(`/app/keys/${id}$`))
  await field(page).waitFor({ state: 'detached' })
  await visit.assertForgotten(key)
  await visit.leave()
})

test('a screen that arrives late leaves the focus in the palette', async () => {
  const { person } = await makeOne('admin')
  const visit = await stage.visit('/app/', { as: person })
  const { page } = visit
  await visit.heading('Overview')
  const late = Promise.withResolvers<void>()
  await page.route('**/*.js', async route => {
    await late.promise
    await route.continue()
  })
  const asked = page.waitForRequest('**/*.js')
  await page.getByRole('link', { name: 'Usage', exact: true }).click()
  await asked
  await page.keyboard.press('Control+k')
  const focused = field(page).and(page.locator(':focus'))
  await focused.waitFor()
  late.resolve()
  // What is behind a dialog is hidden from a screen reader.
  await page.getByRole('heading', { name: 'Usage', level: 1, includeHidden: true }).waitFor()
  await page.keyboard.type('audit')
  assert.equal(await field(page).inputValue(), 'audit')
  assert.ok(await focused.isVisible())
  await visit.leave()
})

test('an answer to an earlier text is not shown, and a failed search says why', async () => {
  const { vendor, person } = await makeOne('admin')
  await issueKey(harness, vendor, { name: 'Billing' })
  const visit = await stage.visit('/app/keys', { as: person })
  const { page } = visit
  await page.getByRole('link', { name: 'Billing' }).waitFor()
  const late = Promise.withResolvers<void>()
  await page.route(/\/v1\/keys\?q=billing/, async route => {
    await late.promise
    await route.continue().catch(() => {})
  })
  await page.getByRole('button', { name: /^Find/ }).click()
  const asked = page.waitForRequest(/\/v1\/keys\?q=billing/)
  await field(page).fill('billing')
  await asked
  await visit.text('Searching')
  await field(page).fill('globex')
  await option(page, /^Globex/).waitFor()
  late.resolve()
  assert.equal(await option(page, /^Billing/).count(), 0)

  await page.route(/\/v1\/tenants\?q=/, route =>
    route.fulfill({
      status: 500,
      contentType: 'application/problem+json',
      body: JSON.stringify({ code: 'internal_error', detail: 'the service failed', request_id: 'req_x' }),
    }),
  )
  await field(page).fill('payments')
  await page.getByRole('alert').getByText('the service failed').waitFor()
  await visit.leave()
})

test('a member is offered no change', async () => {
  const { person } = await makeOne('member')
  const visit = await stage.visit('/app/keys?create=open', { as: person })
  const { page } = visit
  await visit.text('You see keys as a member.')
  assert.equal(await page.getByRole('dialog').count(), 0)
  await page.keyboard.press('Control+k')
  await option(page, 'Show the test environment').waitFor()
  assert.equal(await option(page, /Create|Invite|Rotate|Revoke|Edit|End/).count(), 0)
  await field(page).fill('test env')
  await page.keyboard.press('Enter')
  await page.getByRole('note').getByText('Test environment').waitFor()
  await visit.leave()
})

test('an owner opens the dialogs that create something from anywhere', async () => {
  const { person } = await makeOne('owner')
  const visit = await stage.visit('/app/', { as: person })
  const { page } = visit
  for (const [text, title] of [
    ['create key', 'Create live key'],
    ['create tenant', 'Create tenant'],
    ['create project', 'Create project'],
    ['invite', 'Invite a person'],
  ] as const) {
    await page.getByRole('button', { name: /^Find/ }).click()
    await field(page).fill(text)
    await page.keyboard.press('Enter')
    await page.getByRole('dialog', { name: title }).waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await page.waitForURL(url => !url.search.includes('create'))
  }
  await visit.leave()
})

test('an admin rotates, revokes and edits keys from anywhere, by their names', async () => {
  const { vendor, person } = await makeOne('admin')
  const billing = await issueKey(harness, vendor, { name: 'Billing' })
  const old = await issueKey(harness, vendor, { name: 'Billing of old' })
  await ask('POST', `/v1/keys/${old.id}/revoke`, { token: vendor.live })
  const visit = await stage.visit('/app/', { as: person })
  const { page } = visit
  await visit.heading('Overview')
  const find = async (text: string) => {
    await page.keyboard.press('Control+k')
    await field(page).and(page.locator(':focus')).waitFor()
    await page.keyboard.type(text)
  }
  const leaveDialog = async (name: RegExp) => {
    await page.getByRole('dialog', { name }).waitFor()
    assert.ok(!page.url().includes('act='), page.url())
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
  }

  await find('revoke bill')
  await option(page, /^Revoke Billing kr_live_/).waitFor()
  assert.equal(await option(page, /of old/).count(), 0, 'it is revoked already')
  await visit.look('palette-revoke')
  await page.keyboard.press('Enter')
  await leaveDialog(/Revoke/)
  assert.match(page.url(), new RegExp(`/app/keys/${billing.id}$`))

  await find('replace this')
  assert.match(String(await chosen(page)), /^Rotate this key/)
  await page.keyboard.press('Enter')
  await leaveDialog(/Rotate/)

  await page.goto('/app/usage')
  await visit.heading('Usage')
  await find('rotate')
  await option(page, /^Rotate … a key/).waitFor()
  await page.keyboard.press('Enter')
  assert.equal(await field(page).inputValue(), 'Rotate ')
  await option(page, /^Rotate …/).waitFor({ state: 'detached' })
  await option(page, /^Rotate Billing kr_live_/).waitFor()
  await visit.look('palette-rotate')
  await option(page, /^Rotate Billing kr_live_/).click()
  await leaveDialog(/Rotate/)

  await find('end glob')
  await option(page, /^End embed sessions of Globex/).click()
  await leaveDialog(/End all embed sessions of Globex/)
  assert.match(page.url(), new RegExp(`/app/tenants/${vendor.tenantId}$`))

  await find('new tenant')
  assert.match(String(await chosen(page)), /^Create tenant/)
  await page.keyboard.press('Escape')
  await visit.leave()
})
