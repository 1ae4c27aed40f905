import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isMade } from './filled-form.ts'
import { openStage, tokenOf } from './stage.ts'
import { makeKey } from './vendor-side.ts'

const stage = await openStage()
const hourMs = 3_600_000

for (const [where, aheadMs] of [
  ['two hours ahead', 2 * hourMs],
  ['two hours behind', -2 * hourMs],
] as const)
  test(`on a machine whose clock is ${where}, keys end when the service ends them`, async () => {
    const vendor = await stage.makeVendor()
    const inOneHour = new Date(Date.now() + hourMs).toISOString()
    await makeKey(stage, vendor, 'Ends soon', { expires_at: inOneHour })
    const { id } = await makeKey(stage, vendor, 'Has ended', { expires_at: inOneHour })
    await stage.harness.query(
      `update api_keys set created_at = now() - interval '1 day', expires_at = now() - interval '1 hour' where id = $1`,
      [id],
    )
    const visit = await stage.visit({ token: () => tokenOf(stage, vendor), aheadMs })
    const { page } = visit
    const row = (name: string) => page.getByRole('listitem').filter({ hasText: name })
    await row('Ends soon').getByText('Expires').waitFor()
    await row('Has ended').getByText('Expired').waitFor()
    assert.equal(await visit.button('Rotate Has ended').count(), 0)

    await visit.button('Rotate Ends soon').click()
    const dialog = page.getByRole('dialog')
    const works = dialog.getByText('The old key works until')
    await dialog.getByRole('combobox').selectOption('24 hours')
    const atMost = await works.textContent()
    await dialog.getByRole('combobox').selectOption('1 hour')
    // An overlap never extends a life, and this key has less than an hour left.
    assert.equal(await works.textContent(), atMost)
    await dialog.getByRole('combobox').selectOption('No time')
    await dialog.getByText('The old key no longer works.').waitFor()
    await dialog.getByRole('combobox').selectOption('1 hour')
    await dialog.getByRole('button', { name: 'Rotate', exact: true }).click()
    await isMade(visit)
    assert.equal(await works.textContent(), atMost)
    await visit.leave()
  })
