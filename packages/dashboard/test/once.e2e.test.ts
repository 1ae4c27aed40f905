import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makePerson } from '../../server/test/people.ts'
import { issueKey, makeVendor } from '../../server/test/vendor.ts'
import { openStage } from './stage.ts'

const stage = await openStage()
const { harness } = stage
const hourMs = 3_600_000

async function makeOne(more: object = {}) {
  const vendor = await makeVendor(harness)
  const { id } = await issueKey(harness, vendor, { name: 'Billing', ...more })
  const as = await makePerson(harness.query, { workspaceId: vendor.workspaceId, role: 'admin', name: 'Ann' })
  return { vendor, id, visit: await stage.visit(`/app/keys/${id}`, { as }) }
}

test('a new key stays on the page until it is stored, whatever a person presses', async () => {
  const { visit } = await makeOne()
  const { page } = visit
  await visit.press('Rotate key')
  await visit.press('Issue the new key')
  await visit.text('The new key')
  const secret = await visit.shownOnce()
  for (const leave of [() => page.mouse.click(5, 5), () => page.keyboard.press('Escape')]) {
    await leave()
    await visit.text('Close without storing it?')
    await visit.press('Keep open')
  }
  // The browser asks for itself; a person who stays still has the key.
  const [asked] = await Promise.all([page.waitForEvent('dialog'), page.close({ runBeforeUnload: true })])
  assert.equal(asked.type(), 'beforeunload')
  await asked.dismiss()
  assert.equal(await visit.shownOnce(), secret)

  const other = await visit.newTab('/app/keys')
  await page.getByLabel('I have stored it').check()
  await Promise.all([page.waitForEvent('close'), page.close({ runBeforeUnload: true })])
  await other.getByRole('link', { name: 'Billing' }).first().waitFor()
  await visit.leave()
})

test('a person reads that an overlap never makes a key live longer, and it does not', async () => {
  const [{ now }] = await harness.query('select service_now() as now')
  const ends = new Date(now.getTime() + 2 * hourMs).toISOString()
  const { vendor, id, visit } = await makeOne({ expires_at: ends })
  await visit.press('Rotate key')
  await visit.text('an overlap never makes a key live longer')
  await visit.page.getByText('1 hour', { exact: true }).click()
  await visit.page.getByText('never makes a key live longer').waitFor({ state: 'detached' })
  await visit.page.getByText('7 days', { exact: true }).click()
  await visit.text('an overlap never makes a key live longer')
  await visit.look('key-rotate-ending')
  await visit.press('Issue the new key')
  await visit.text('The new key')
  const { body } = await harness.ask('GET', `/v1/keys/${id}`, { token: vendor.live })
  assert.equal(body.expires_at, ends)
  await visit.store()
  await visit.leave()
})
