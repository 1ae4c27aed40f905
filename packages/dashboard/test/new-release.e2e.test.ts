import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { madePassword, makePerson } from '../../server/test/people.ts'
import { makeVendor } from '../../server/test/vendor.ts'
import { openStage } from './stage.ts'

const stage = await openStage()
const { ask, query } = stage.harness
const acme = await makeVendor(stage.harness)
const makeAnn = (name: string) =>
  makePerson(query, { workspaceId: acme.workspaceId, role: 'owner', name, email: `${name}@example.com` })
/** Code that is missing, and a network that is away, also for axe. */
const mayFail = /\/app\/assets\/|\/app\/keys |preload assets/

/** How often the tab has loaded a page. */
function countLoads(page: Page): () => number {
  let count = 0
  page.on('request', request => {
    if (request.isNavigationRequest()) count += 1
  })
  return () => count
}
const linkToKeys = (page: Page) => page.getByRole('link', { name: 'Keys', exact: true })

test('a reload that does not help is not repeated, and the page says so', async () => {
  const visit = await stage.visit('/app/account', { as: await makeAnn('ann'), mayFail })
  await visit.heading('Account')
  const loads = countLoads(visit.page)
  await visit.page.route(/\/assets\/keys-/, route => route.fulfill({ status: 404 }))
  await linkToKeys(visit.page).click()
  await visit.heading('A part of this page is missing')
  assert.equal(loads(), 1)
  assert.match(visit.page.url(), /\/app\/keys$/)
  await visit.look('part-missing')
  await visit.page.unroute(/\/assets\/keys-/)
  await visit.press('Load the page again')
  await visit.heading('Keys')
  await visit.leave()
})

test('a screen that is opened without a network opens by itself once there is one', async () => {
  const visit = await stage.visit('/app/account', { as: await makeAnn('bea'), mayFail })
  await visit.heading('Account')
  await visit.page.context().setOffline(true)
  await linkToKeys(visit.page).click()
  await visit.heading('Keyrail cannot be reached')
  await visit.look('part-waits')
  await visit.page.context().setOffline(false)
  await visit.heading('Keys')
  await visit.leave()
})

test('a mailed link whose page is missing at first still works', async () => {
  await ask('POST', '/v1/auth/users', { body: { email: 'cyd@example.com', password: 'a long enough word' } })
  const link = await stage.linkTo('cyd@example.com', '/verify-email')
  const visit = await stage.visit('/app/sign-in', { mayFail })
  const loads = countLoads(visit.page)
  await visit.page.route(/\/assets\/verify-email-/, route =>
    loads() < 2 ? route.fulfill({ status: 404 }) : route.fallback(),
  )
  await visit.page.goto(link)
  await visit.heading('Verify your e-mail address')
  assert.equal(loads(), 2)
  assert.match(visit.page.url(), /\/verify-email$/)
  await visit.press('Verify e-mail address')
  await visit.heading('Your e-mail address is verified')
  await visit.leave()
})

// The last, because the service is another one afterwards.
test('at a new release an open tab keeps what is typed, and reloads once for the next screen', async () => {
  const dan = await makeAnn('dan')
  const visit = await stage.visit('/app/account', { as: dan, mayFail })
  await visit.heading('Account')
  await visit.fill('Name', 'Dan the Second')
  const loads = countLoads(visit.page)
  await stage.upgrade()

  const missing = visit.page.waitForResponse(one => one.url().includes('/assets/') && one.status() === 404)
  await linkToKeys(visit.page).hover()
  await missing
  await query('update sessions set ended_at = service_now() where user_id = $1', [dan.userId])
  await visit.press('Save name')
  await visit.text('Your session has ended')
  await visit.page.getByRole('dialog').getByLabel('Password', { exact: true }).fill(madePassword)
  await visit.press('Sign in')
  await visit.text('Your name is saved.')
  assert.equal(await visit.page.getByLabel('Name', { exact: true }).inputValue(), 'Dan the Second')
  assert.equal(loads(), 0)

  await linkToKeys(visit.page).click()
  await visit.page.locator('script[src$="-next.js"]').first().waitFor({ state: 'attached' })
  await visit.heading('Keys')
  assert.equal(loads(), 1)
  await visit.page.getByRole('link', { name: 'Tenants', exact: true }).click()
  await visit.heading('Tenants')
  assert.equal(loads(), 1)
  await visit.leave()
})
