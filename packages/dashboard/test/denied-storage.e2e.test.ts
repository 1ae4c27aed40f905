import { test } from 'node:test'
import { madePassword, makePerson } from '../../server/test/people.ts'
import { makeVendor } from '../../server/test/vendor.ts'
import { openStage } from './stage.ts'

const stage = await openStage()
const { harness } = stage

/** What a browser does that blocks cookies and site data. */
const denied = `
  for (const name of ['localStorage', 'sessionStorage'])
    Object.defineProperty(globalThis, name, { get() { throw new DOMException('Access is denied.', 'SecurityError') } })
  globalThis.BroadcastChannel = class { constructor() { throw new DOMException('Access is denied.', 'SecurityError') } }`

test('where the browser denies storage, a person reads what that means, signs in and works', async () => {
  const vendor = await makeVendor(harness)
  const person = await makePerson(harness.query, { workspaceId: vendor.workspaceId, role: 'owner' })
  const visit = await stage.visit('/app/')
  const { page } = visit
  await visit.heading('Sign in')
  await page.addInitScript(denied)
  await page.reload()
  await visit.heading('Sign in')
  await visit.text('You stay signed in until you load the page again.')
  await visit.look('denied-storage')
  await visit.fill('E-mail address', person.email)
  await visit.fill('Password', madePassword)
  await visit.press('Sign in')
  await visit.heading('Overview')
  await page.getByRole('link', { name: 'Tenants', exact: true }).click()
  await visit.heading('Tenants')
  await page.reload()
  await visit.heading('Sign in')
  await visit.leave()
})
