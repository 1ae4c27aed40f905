import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Locator, Page } from 'playwright-core'
import { makePerson } from '../../server/test/people.ts'
import { issueKey, makeSecretKey, makeVendor } from '../../server/test/vendor.ts'
import { openStage, type Visit } from './stage.ts'

const stage = await openStage()
const { harness } = stage
const phone = { width: 375, height: 667 }

async function boxOf(locator: Locator) {
  const box = await locator.boundingBox()
  assert.ok(box !== null, 'it is on the page')
  return { ...box, right: box.x + box.width, bottom: box.y + box.height }
}

/** The dialog shows each line of its code to the end. Then the secret is stored. */
async function assertUncut(visit: Visit): Promise<void> {
  const { page } = visit
  const code = page.getByRole('dialog').locator('figure pre')
  await code.waitFor()
  for (const width of [1_280, phone.width]) {
    await page.setViewportSize({ width, height: 800 })
    assert.equal(await code.evaluate(shown => shown.scrollWidth - shown.clientWidth), 0, `${width} px`)
  }
  await visit.store()
  await page.getByRole('dialog').waitFor({ state: 'detached' })
}

/** Where the frame of a table ends, to which its rows must come and not further. */
const widthLeft = (page: Page, table: string) =>
  page.getByRole('region', { name: table }).evaluate(frame => frame.clientWidth - frame.scrollWidth)

test('on a phone, what changes a secret key is one row, below its status', async () => {
  const vendor = await makeVendor(harness)
  await makeSecretKey(harness, vendor, { name: 'Server', preset: 'node' })
  const ann = await makePerson(harness.query, { workspaceId: vendor.workspaceId, role: 'owner' })
  const visit = await stage.visit('/app/settings/secret-keys', { as: ann, viewport: phone })
  const row = visit.page.getByRole('row').filter({ hasText: 'Server' })
  const rotate = await boxOf(row.getByRole('button', { name: 'Rotate Server' }))
  const revoke = await boxOf(row.getByRole('button', { name: 'Revoke Server' }))
  assert.equal(rotate.y, revoke.y)
  assert.ok((await boxOf(row.getByText('Active').filter({ visible: true }))).bottom <= rotate.y)
  assert.equal(await widthLeft(visit.page, 'Secret keys'), 0)
  await visit.leave()
})

test('on a phone, each change names what it was made to', async () => {
  const vendor = await makeVendor(harness)
  const name = 'A server that has a long name, so that it takes several lines'
  await makeSecretKey(harness, vendor, { name })
  const ann = await makePerson(harness.query, { workspaceId: vendor.workspaceId, role: 'owner' })
  const visit = await stage.visit('/app/', { as: ann, viewport: phone })
  for (const [path, table] of [
    ['/app/', 'Newest rows of the audit log'],
    ['/app/audit-log', 'Audit log'],
  ] as const) {
    await visit.page.goto(path)
    const rows = visit.page.getByRole('region', { name: table }).getByRole('row')
    await rows.getByText(`Secret key ${name}`).filter({ visible: true }).waitFor()
    assert.equal(await widthLeft(visit.page, table), 0)
  }
  await visit.leave()
})

test('the way out of a long dialog is in sight, and it covers no field that has the focus', async () => {
  const vendor = await makeVendor(harness)
  const ann = await makePerson(harness.query, { workspaceId: vendor.workspaceId, role: 'owner' })
  const visit = await stage.visit('/app/keys', { as: ann, viewport: phone })
  const { page } = visit
  await visit.press('Create key')
  const dialog = page.getByRole('dialog')
  const send = dialog.getByRole('button', { name: 'Create key' })
  assert.ok((await boxOf(send)).bottom <= phone.height)
  const fields = dialog.locator('input:visible, textarea:visible')
  for (const field of await fields.all()) {
    await field.focus()
    assert.ok((await boxOf(field)).bottom <= (await boxOf(send)).y)
  }
  await visit.leave()
})

test('on a phone, each key names its tenant', async () => {
  const vendor = await makeVendor(harness)
  await harness.ask('PATCH', `/v1/tenants/${vendor.tenantId}`, {
    token: vendor.live,
    body: { name: 'Globex' },
  })
  await issueKey(harness, vendor, { name: 'Billing' })
  const ann = await makePerson(harness.query, { workspaceId: vendor.workspaceId, role: 'owner' })
  const visit = await stage.visit('/app/keys', { as: ann, viewport: phone })
  const row = visit.page.getByRole('row').filter({ hasText: 'Billing' })
  await row.getByText('Globex').filter({ visible: true }).waitFor()
  assert.equal(await widthLeft(visit.page, 'Keys'), 0)
  await visit.leave()
})

test('a line with a new key shows all of it, on a phone too', async () => {
  const vendor = await makeVendor(harness)
  const { id } = await issueKey(harness, vendor, { name: 'Billing' })
  const ann = await makePerson(harness.query, { workspaceId: vendor.workspaceId, role: 'owner' })
  const visit = await stage.visit(`/app/keys/${id}`, { as: ann, viewport: phone })
  await visit.press('Rotate key')
  await visit.press('Issue the new key')
  await assertUncut(visit)
  await visit.page.goto('/app/settings/secret-keys')
  await visit.press('Create secret key')
  await visit.fill('Name', 'Server')
  await visit.press('Create')
  await assertUncut(visit)
  await visit.page.goto('/app/workspaces/new')
  await visit.fill('Name', 'Another one')
  await visit.press('Create workspace')
  await assertUncut(visit)
  await visit.leave()
})

test('a button that works turns in its middle, also for a person who wants less motion', async () => {
  const visit = await stage.visit('/app/sign-in', { reducedMotion: 'reduce' })
  const { page } = visit
  let answer = () => {}
  const held = new Promise<void>(resolve => {
    answer = resolve
  })
  await page.route('**/v1/auth/sessions', async route => {
    await held
    await route.continue()
  })
  await visit.fill('E-mail address', 'nobody@example.com')
  await visit.fill('Password', 'a long enough word')
  await visit.press('Sign in')
  const button = await boxOf(page.locator('button[data-loading]'))
  const loader = await boxOf(page.locator('.mantine-Button-loader'))
  for (const [from, to] of [
    [button.x, button.right, loader.x, loader.right],
    [button.y, button.bottom, loader.y, loader.bottom],
  ].map(([start = 0, end = 0, innerStart = 0, innerEnd = 0]) => [start + end, innerStart + innerEnd]))
    assert.ok(Math.abs((from ?? 0) - (to ?? 0)) <= 4)
  answer()
  await visit.text('E-mail address or password is wrong.')
  await visit.leave()
})
