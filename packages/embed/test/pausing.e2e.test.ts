import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openStage } from './stage.ts'
import { makeKey, openTokenRoute } from './vendor-side.ts'

const stage = await openStage()
const { ask } = stage.harness

test('a customer pauses and resumes a key', async () => {
  const vendor = await stage.makeVendor()
  const { id } = await makeKey(stage, vendor, 'Build server')
  const read = async () => (await ask('GET', `/v1/keys/${id}`, { token: vendor.live })).body
  const visit = await stage.visit({ token: openTokenRoute(stage, vendor).token })
  const { page } = visit
  await page.getByRole('button', { name: 'Pause Build server' }).click()
  await visit.text('are refused until you resume it.')
  await visit.look('pause')
  await page.getByRole('dialog').getByRole('button', { name: 'Pause Build server' }).click()
  await visit.text('Paused by you')
  assert.equal((await read()).disabled_by, 'tenant')
  // A paused key is neither rotated nor paused again.
  for (const action of ['Rotate', 'Pause'])
    assert.equal(await page.getByRole('button', { name: `${action} Build server` }).count(), 0, action)
  await visit.look('paused')
  await page.getByRole('button', { name: 'Resume Build server' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Resume Build server' }).click()
  await page.getByRole('button', { name: 'Pause Build server' }).waitFor()
  assert.equal((await read()).disabled_at, null)
  await visit.leave()
})

test('a key that the vendor paused shows the name of the vendor, and no way to resume it', async () => {
  const vendor = await stage.makeVendor()
  const { id } = await makeKey(stage, vendor, 'Build server')
  await ask('POST', `/v1/keys/${id}/disable`, { token: vendor.live, body: {} })
  const { name } = (await ask('GET', '/v1/workspace', { token: vendor.live })).body
  const visit = await stage.visit({ token: openTokenRoute(stage, vendor).token })
  await visit.text(`Paused by ${name}`)
  assert.equal(await visit.page.getByRole('button', { name: 'Resume Build server' }).count(), 0)
  await visit.page.getByRole('button', { name: 'Revoke Build server' }).waitFor()
  await visit.leave()
})
