import assert from 'node:assert/strict'
import { test } from 'node:test'
import { madePassword, makePerson } from '../../server/test/people.ts'
import { makeVendor } from '../../server/test/vendor.ts'
import { openStage } from './stage.ts'

const stage = await openStage()

test('a person signs in, lands on the page that was asked for, and signs out everywhere', async () => {
  const { workspaceId } = await makeVendor(stage.harness)
  const ann = await makePerson(stage.harness.query, {
    workspaceId,
    role: 'owner',
    name: 'ann',
    email: 'ann@example.com',
  })
  const visit = await stage.visit('/app/tenants?env=test')
  await visit.heading('Sign in')
  await visit.fill('E-mail address', ann.email)
  await visit.fill('Password', 'not the one')
  await visit.press('Sign in')
  await visit.text('E-mail address or password is wrong.')
  await visit.fill('Password', madePassword)
  await visit.press('Sign in')
  await visit.heading('Tenants')
  assert.match(visit.page.url(), /\/app\/tenants\?env=test$/)

  const other = await visit.newTab('/app/keys')
  await other.getByRole('heading', { name: 'Keys', level: 1 }).waitFor()
  await visit.page.getByRole('button', { name: 'Account of ann' }).click()
  await visit.page.getByRole('menuitem', { name: 'Sign out' }).click()
  await visit.heading('Sign in')
  await other.getByRole('heading', { name: 'Sign in', level: 1 }).waitFor()
  for (const tab of [visit.page, other]) {
    assert.equal(await tab.evaluate(`sessionStorage.getItem('keyrail.session')`), null)
    assert.equal(await tab.evaluate(`localStorage.getItem('keyrail.session')`), null)
  }
  await visit.leave()
})
