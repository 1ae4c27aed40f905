import { test } from 'node:test'
import { openStage, tokenOf, type Visit } from './stage.ts'
import { makeKey } from './vendor-side.ts'

const stage = await openStage()
const { ask } = stage.harness

const refresh = ({ page }: Visit) => page.evaluate(`document.querySelector('keyrail-keys').refresh()`)
const rowOf = ({ page }: Visit, name: string) => page.locator('[part=key]:focus', { hasText: name })

test('the focus stays at its place in the list when a row or a button goes', async () => {
  const vendor = await stage.makeVendor()
  await makeKey(stage, vendor, 'First')
  await makeKey(stage, vendor, 'Second')
  const third = await makeKey(stage, vendor, 'Third')
  await makeKey(stage, vendor, 'Fourth')
  const visit = await stage.visit({ token: () => tokenOf(stage, vendor) })
  const { page } = visit
  const dialog = page.getByRole('dialog')
  // Revoked elsewhere, newest first: the row below comes in its place.
  await visit.button('Rotate Third').focus()
  await ask('POST', `/v1/keys/${third.id}/revoke`, { token: vendor.live })
  await refresh(visit)
  await rowOf(visit, 'Second').waitFor()
  // Revoked here.
  await visit.button('Revoke Fourth').press('Enter')
  await dialog.getByRole('button', { name: 'Revoke Fourth' }).press('Enter')
  await dialog.waitFor({ state: 'detached' })
  await rowOf(visit, 'Second').waitFor()
  // Replaced: it can no longer be rotated, but it is still there.
  await visit.button('Rotate First').press('Enter')
  await dialog.getByRole('button', { name: 'Rotate', exact: true }).press('Enter')
  await page.getByLabel('I have stored it').check()
  await page.getByText(/^Replaced, works until /).waitFor({ state: 'attached' })
  await visit.button('Done').press('Enter')
  await dialog.waitFor({ state: 'detached' })
  await rowOf(visit, 'Replaced').waitFor()
  await visit.look('focus')
  // The last of all.
  await visit.button('Revoke Second').focus()
  const { body } = await ask('GET', '/v1/keys', { token: vendor.live })
  for (const { id } of body.data) await ask('POST', `/v1/keys/${id}/revoke`, { token: vendor.live })
  await refresh(visit)
  await page.locator('h2:focus').waitFor()
  await visit.text('No keys yet')
  await visit.leave()
})
