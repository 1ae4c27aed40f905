import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makePerson } from '../../server/test/people.ts'
import { issueKey, makeTenant, makeVendor } from '../../server/test/vendor.ts'
import { openStage, type Visit } from './stage.ts'

const stage = await openStage()
const { harness } = stage
const { ask, query } = harness
const makeOne = async (role: 'admin' | 'member' = 'admin') => {
  const vendor = await makeVendor(harness)
  return { vendor, person: await makePerson(query, { workspaceId: vendor.workspaceId, role, name: 'Ann' }) }
}

const itemsOf = async (visit: Visit) => await visit.page.getByRole('menuitem').allTextContents()

/** Opens the menu of a row and chooses from it, without a pointer. */
async function choose(visit: Visit, row: string, item: string): Promise<void> {
  const { page } = visit
  await page.getByRole('button', { name: `Actions for ${row}` }).focus()
  await page.keyboard.press('Enter')
  const chosen = page.getByRole('menuitem', { name: item, exact: true })
  await chosen.waitFor()
  // The focus comes a few frames after the menu: arrows before it would move nothing.
  await page.locator('[role="menu"]:focus-within').waitFor()
  for (let steps = 0; steps < 10 && !(await isFocused(visit, item)); steps++)
    await page.keyboard.press('ArrowDown')
  assert.ok(await isFocused(visit, item), `the arrow keys do not reach ${item}`)
  await page.keyboard.press('Enter')
}
const isFocused = async ({ page }: Visit, text: string) =>
  (await page.evaluate('document.activeElement.textContent.trim()')) === text
const focusedLabel = ({ page }: Visit) => page.evaluate('document.activeElement.getAttribute("aria-label")')

/** The first cells of the rows, from the top. */
const firstCells = ({ page }: Visit, label: string) =>
  page
    .getByRole('region', { name: label })
    .locator('tbody tr')
    .locator('td:not(:has(input))')
    .and(page.locator('td:first-child, td:has(input) + td'))
    .allTextContents()

test('the menu of a key works by keyboard, and opens the dialogs of the key’s page', async () => {
  const { vendor, person } = await makeOne()
  const key = await issueKey(harness, vendor, { name: 'Billing' })
  const visit = await stage.visit('/app/keys', { as: person })
  const { page } = visit
  await page.getByRole('button', { name: 'Actions for Billing' }).click()
  await page.getByRole('menuitem', { name: 'Revoke key' }).waitFor()
  assert.deepEqual(await itemsOf(visit), ['Open', 'Copy id', 'Edit', 'Rotate key', 'Pause key', 'Revoke key'])
  await visit.look('row-menu')
  await page.keyboard.press('Escape')
  await page.getByRole('menu').waitFor({ state: 'detached' })
  assert.equal(await focusedLabel(visit), 'Actions for Billing')

  await choose(visit, 'Billing', 'Copy id')
  await visit.text('Copied: id')
  await choose(visit, 'Billing', 'Edit')
  await page.getByRole('dialog', { name: 'Edit key' }).waitFor()
  await visit.fill('Name (optional)', 'Billing of today')
  await visit.press('Save key')
  await page.getByRole('link', { name: 'Billing of today' }).waitFor()
  await choose(visit, 'Billing of today', 'Rotate key')
  await page.getByRole('dialog', { name: 'Rotate Billing of today' }).waitFor()
  await page.keyboard.press('Escape')
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  assert.equal(await focusedLabel(visit), 'Actions for Billing of today')
  await choose(visit, 'Billing of today', 'Revoke key')
  await page.getByRole('dialog').getByRole('button', { name: 'Revoke for good' }).click()
  await visit.press('Done')
  await visit.text('No live keys yet')
  const { body } = await ask('GET', `/v1/keys/${key.id}`, { token: vendor.live })
  assert.deepEqual([body.name, body.revoked_at === null], ['Billing of today', false])
  await visit.leave()
})

test('the menus of tenants and projects edit and delete as their pages do', async () => {
  const { vendor, person } = await makeOne()
  const tenant = await makeTenant(harness, vendor, { external_id: 'org-globex', name: 'Globex' })
  const visit = await stage.visit('/app/tenants', { as: person })
  await choose(visit, 'Globex', 'End all embed sessions')
  await visit.press('End sessions')
  await visit.text('The embed sessions of Globex have ended.')
  await choose(visit, 'Globex', 'Delete tenant')
  await visit.fill('Type Globex to confirm', 'Globex')
  await visit.page.getByRole('dialog').getByRole('button', { name: 'Delete tenant' }).click()
  await visit.page.getByRole('link', { name: 'Globex' }).waitFor({ state: 'detached' })
  assert.equal((await ask('GET', `/v1/tenants/${tenant.id}`, { token: vendor.live })).status, 404)

  await visit.page.goto('/app/projects')
  await choose(visit, 'Payments', 'Edit')
  await visit.fill('Name', 'Ledger')
  await visit.press('Save project')
  await visit.page.getByRole('link', { name: 'Ledger' }).waitFor()
  await choose(visit, 'Ledger', 'Open')
  await visit.heading('Ledger')
  await visit.leave()
})

test('the menus of a member open and copy, and change nothing', async () => {
  const { vendor, person } = await makeOne('member')
  await issueKey(harness, vendor, { name: 'Billing' })
  const [{ external_id }] = (await ask('GET', '/v1/tenants', { token: vendor.live })).body.data
  const visit = await stage.visit('/app/keys', { as: person })
  for (const [path, row, items] of [
    ['/app/keys', 'Billing', ['Open', 'Copy id']],
    ['/app/tenants', external_id, ['Open', 'Copy id', 'Copy your id']],
    ['/app/projects', 'Payments', ['Open', 'Copy id', 'Copy slug']],
  ] as const) {
    await visit.page.goto(path)
    await visit.page.getByRole('button', { name: `Actions for ${row}` }).click()
    await visit.page.getByRole('menuitem', { name: 'Open' }).waitFor()
    assert.deepEqual(await itemsOf(visit), items)
    await visit.page.keyboard.press('Escape')
  }
  await visit.leave()
})

test('a list sorts by its columns once all rows are there, and never one page of many', async () => {
  const { vendor, person } = await makeOne()
  for (const name of ['Key 10', 'alpha', 'Key 9']) await issueKey(harness, vendor, { name })
  const visit = await stage.visit('/app/keys', { as: person })
  const { page } = visit
  await page.getByRole('link', { name: 'alpha' }).waitFor()
  const names = async () => (await firstCells(visit, 'Keys')).map(text => text.replace(/kr_live.*/, ''))
  assert.deepEqual(await names(), ['Key 9', 'alpha', 'Key 10'])
  await visit.press('Key')
  assert.deepEqual(await names(), ['alpha', 'Key 9', 'Key 10'])
  await page
    .getByRole('columnheader', { name: 'Key', exact: true })
    .and(page.locator('[aria-sort=ascending]'))
    .waitFor()
  await visit.look('keys-sorted')
  await page.keyboard.press('Enter')
  assert.deepEqual(await names(), ['Key 10', 'Key 9', 'alpha'])
  await page.keyboard.press('Enter')
  assert.deepEqual(await names(), ['Key 9', 'alpha', 'Key 10'])
  assert.equal(await page.locator('[aria-sort]').count(), 0)

  for (let n = 1; n <= 55; n++) await makeTenant(harness, vendor, { external_id: `org-many-${n}` })
  await page.goto('/app/tenants')
  await visit.text('Columns sort once all rows are loaded.')
  assert.equal(await page.getByRole('button', { name: 'Your id', exact: true }).count(), 0)
  await visit.press('Load more')
  await visit.press('Your id')
  const cells = await firstCells(visit, 'Tenants')
  assert.deepEqual([cells.length, cells.filter(text => text.startsWith('org-many'))[0]], [56, 'org-many-1'])
  await visit.leave()
})
