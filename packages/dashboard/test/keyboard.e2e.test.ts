import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { madePassword, makePerson } from '../../server/test/people.ts'
import { issueKey, makeVendor } from '../../server/test/vendor.ts'
import { openStage } from './stage.ts'

const stage = await openStage()
const { harness } = stage
const { ask, query } = harness
const permissions = ['clipboard-read', 'clipboard-write']

type Role = Parameters<Page['getByRole']>[0]
const presses = 80

/** Everything here happens by keys; nothing is clicked or focused by the test. */
const keysOf = (page: Page) => {
  const at = (role: Role, name: string) =>
    page.locator('*:focus').and(page.getByRole(role, { name, exact: true }))
  const { keyboard } = page
  return {
    type: (text: string) => keyboard.type(text),
    press: (key: string) => keyboard.press(key),
    /** Waits until this has the focus. */
    at: (role: Role, name: string) => at(role, name).waitFor(),
    /** Presses Tab until this has the focus. */
    async tabTo(role: Role, name: string) {
      for (let count = 0; (await at(role, name).count()) === 0; count++) {
        assert.ok(count < presses, `no Tab leads to the ${role} ${name}`)
        await keyboard.press('Tab')
        assert.notEqual(await page.evaluate('document.activeElement.tagName'), 'BODY')
      }
    },
    /** Waits until the focus is inside the dialog with this title. */
    inside: (title: string) =>
      page.getByRole('dialog', { name: title, exact: true }).and(page.locator(':focus-within')).waitFor(),
    /** Chooses an entry of a list that searches by what is typed. */
    async choose(text: string, option: RegExp) {
      await keyboard.type(text)
      const entry = page.getByRole('option', { name: option })
      await entry.waitFor()
      for (let count = 0; (await entry.getAttribute('data-combobox-selected')) === null; count++) {
        assert.ok(count < presses, `no arrow leads to ${option}`)
        await keyboard.press('ArrowDown')
      }
      await keyboard.press('Enter')
    },
  }
}

const secretOf = async (page: Page) => String(await page.locator('[data-secret]').textContent())

/** Copies what is shown once, says that it is stored, and closes it. */
async function storeByKeys(page: Page, title: string): Promise<string> {
  const keys = keysOf(page)
  await keys.inside(title)
  const secret = await secretOf(page)
  await keys.tabTo('button', 'Copy key')
  await keys.press('Enter')
  await keys.at('button', 'Copied')
  assert.equal(await page.evaluate('navigator.clipboard.readText()'), secret)
  await keys.press('Escape')
  await page.getByText('Close without storing it?').waitFor()
  await keys.tabTo('checkbox', 'I have stored it')
  await keys.press('Space')
  await keys.tabTo('button', 'Done')
  await keys.press('Enter')
  return secret
}

test('a person creates and copies a key by keyboard alone, and ends where they began', async () => {
  const vendor = await makeVendor(harness)
  const ann = await makePerson(query, { workspaceId: vendor.workspaceId, role: 'admin', name: 'Ann' })
  const visit = await stage.visit('/app/keys', { as: ann, permissions })
  const { page } = visit
  const keys = keysOf(page)
  await visit.text('No live keys yet')
  await keys.tabTo('button', 'Create key')
  await keys.press('Enter')
  await keys.inside('Create live key')
  await keys.press('Escape')
  await keys.at('button', 'Create key')

  await keys.press('Enter')
  await keys.inside('Create live key')
  await keys.tabTo('button', 'Create key')
  await keys.press('Enter')
  await keys.at('combobox', 'Project')
  await keys.choose('Pay', /^Payments/)
  await keys.tabTo('combobox', 'Tenant')
  await keys.choose('org-', /^org-/)
  await keys.tabTo('textbox', 'Name (optional)')
  await keys.type('Checkout')
  await keys.tabTo('button', 'Create key')
  await keys.press('Enter')
  const secret = await storeByKeys(page, 'Your new live key')
  await keys.at('button', 'Create key')
  await page.getByRole('link', { name: 'Checkout' }).waitFor()
  await visit.assertForgotten(secret)
  await keys.tabTo('link', 'Checkout')
  await keys.press('Enter')
  await keys.at('heading', 'Checkout')
  await visit.leave()
})

test('a person edits, rotates and revokes a key by keyboard alone', async () => {
  const vendor = await makeVendor(harness)
  const bea = await makePerson(query, { workspaceId: vendor.workspaceId, role: 'admin', name: 'Bea' })
  const { id } = await issueKey(harness, vendor, { name: 'Billing' })
  const visit = await stage.visit(`/app/keys/${id}`, { as: bea, permissions })
  const { page } = visit
  const keys = keysOf(page)
  await visit.heading('Billing')
  await keys.tabTo('button', 'Edit')
  await keys.press('Enter')
  await keys.inside('Edit key')
  await keys.tabTo('textbox', 'Name (optional)')
  await keys.press('Control+A')
  await keys.type('Invoices')
  await keys.tabTo('button', 'Save key')
  await keys.press('Enter')
  await visit.heading('Invoices')
  await keys.at('button', 'Edit')

  await keys.tabTo('button', 'Rotate key')
  await keys.press('Enter')
  await keys.inside('Rotate Invoices')
  await keys.press('Escape')
  await keys.at('button', 'Rotate key')
  await keys.press('Enter')
  await keys.inside('Rotate Invoices')
  await keys.tabTo('button', 'Issue the new key')
  await keys.press('Enter')
  const secret = await storeByKeys(page, 'The new key')
  await visit.text('Predecessor: ')
  await keys.at('heading', 'Invoices')
  await visit.assertForgotten(secret)

  await keys.tabTo('button', 'Revoke key')
  await keys.press('Enter')
  await keys.at('textbox', 'Reason (optional)')
  await keys.type('left the company')
  await keys.tabTo('button', 'Revoke for good')
  await keys.press('Enter')
  await visit.text('No live node holds it.')
  await keys.inside('Invoices is revoked')
  await keys.tabTo('button', 'Done')
  await keys.press('Enter')
  await keys.at('heading', 'Invoices')
  const { body } = await ask('GET', `/v1/keys?status=revoked`, { token: vendor.live })
  assert.deepEqual(
    (body.data as { revoked_reason: string }[]).map(one => one.revoked_reason),
    ['left the company'],
  )
  await visit.leave()
})

test('a refused change leaves the focus in its dialog, on what was pressed', async () => {
  const vendor = await makeVendor(harness)
  const cyd = await makePerson(query, { workspaceId: vendor.workspaceId, role: 'owner', name: 'Cyd' })
  const visit = await stage.visit('/app/settings/members', { as: cyd })
  const keys = keysOf(visit.page)
  await visit.text('No invitations')
  await keys.tabTo('button', 'Invite person')
  await keys.press('Enter')
  await keys.inside('Invite a person')
  await keys.tabTo('textbox', 'E-mail address')
  await keys.type('dan@example.com')
  await visit.page.context().setOffline(true)
  await keys.tabTo('button', 'Send invitation')
  await keys.press('Enter')
  await visit.text('Keyrail cannot be reached.')
  await keys.at('button', 'Send invitation')
  await visit.page.context().setOffline(false)
  await keys.press('Enter')
  await keys.inside('Invitation for dan@example.com')
  await keys.tabTo('checkbox', 'I have stored it')
  await keys.press('Space')
  await keys.tabTo('button', 'Done')
  await keys.press('Enter')
  await keys.at('button', 'Invite person')
  await visit.leave()
})

test('a person whose session has ended signs in by keyboard, and is back in the form', async () => {
  const vendor = await makeVendor(harness)
  const dan = await makePerson(query, { workspaceId: vendor.workspaceId, role: 'owner', name: 'Dan' })
  const visit = await stage.visit('/app/tenants', { as: dan })
  const keys = keysOf(visit.page)
  await visit.page.getByRole('link', { name: /^org-/ }).waitFor()
  await keys.tabTo('button', 'Create tenant')
  await keys.press('Enter')
  await keys.at('textbox', 'Your id')
  // The service refuses it, so the form stays after the sign-in.
  const [{ external_id }] = await query('select external_id from tenants where id = $1', [vendor.tenantId])
  await keys.type(external_id)
  await query('update sessions set ended_at = service_now() where user_id = $1', [dan.userId])
  await keys.press('Enter')
  await visit.page
    .locator('*:focus')
    .and(visit.page.getByLabel('Password', { exact: true }))
    .waitFor()
  await keys.type(madePassword)
  await keys.press('Enter')
  await visit.text('Another tenant has this id.')
  await visit.page.getByRole('dialog', { name: 'Your session has ended' }).waitFor({ state: 'detached' })
  await keys.at('textbox', 'Your id')
  await visit.leave()
})
