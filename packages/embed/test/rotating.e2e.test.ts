import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openStage } from './stage.ts'
import { makeKey, openTokenRoute } from './vendor-side.ts'

const stage = await openStage()
const { ask } = stage.harness

test('a key whose successor was revoked can be rotated again', async () => {
  const vendor = await stage.makeVendor()
  const { id } = await makeKey(stage, vendor, 'Build server')
  const { body: successor } = await ask('POST', `/v1/keys/${id}/rotate`, { token: vendor.live, body: {} })
  const visit = await stage.visit({ token: openTokenRoute(stage, vendor).token })
  const { page } = visit
  const rotations = page.getByRole('button', { name: 'Rotate Build server' })
  await page.getByRole('heading', { name: 'Build server' }).nth(1).waitFor()
  // The old key has its successor, and one of them is enough.
  assert.equal(await rotations.count(), 1)
  await ask('POST', `/v1/keys/${successor.id}/revoke`, { token: vendor.live, body: {} })
  await page.evaluate(`document.querySelector('keyrail-keys').refresh()`)
  await page.getByRole('heading', { name: 'Build server' }).nth(1).waitFor({ state: 'detached' })
  await rotations.click()
  await page.getByRole('dialog').getByRole('button', { name: 'Rotate', exact: true }).click()
  await visit.text('Store the key now')
  await page.getByLabel('I have stored it').check()
  await visit.button('Done').click()
  const { body } = await ask('GET', `/v1/keys/${id}`, { token: vendor.live })
  assert.notEqual(body.rotated_to, successor.id)
  await visit.leave()
})
