import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openStage, tokenOf } from './stage.ts'
import { makeKey } from './vendor-side.ts'

const stage = await openStage()

test('the first rows are shown before their dates, which take the place that is kept for them', async () => {
  const vendor = await stage.makeVendor()
  await makeKey(stage, vendor, 'Build server', { scopes: ['charges:read'] })
  const visit = await stage.visit({
    token: () => tokenOf(stage, vendor),
    script: `
      globalThis.requestIdleCallback = call => { globalThis.later = call }
      document.querySelector('keyrail-keys').getToken = () => getToken('first')`,
  })
  const { page } = visit
  const life = page.locator('[part=key-life]')
  const row = page.locator('[part=key]')
  await visit.button('Rotate Build server').waitFor()
  assert.equal(await life.isVisible(), false)
  const before = await row.boundingBox()
  await page.evaluate('later()')
  await page.getByText(/^Created \w+ \d+, \d{4}$/).waitFor()
  assert.equal(await life.isVisible(), true)
  assert.deepEqual(await row.boundingBox(), before)
  // Formatters exist now, so a list that comes again has its dates at once.
  await page.evaluate(`later = null; document.querySelector('keyrail-keys').refresh()`)
  await makeKey(stage, vendor, 'Another')
  await page.evaluate(`document.querySelector('keyrail-keys').refresh()`)
  await visit.button('Rotate Another').waitFor()
  assert.equal(await life.first().isVisible(), true)
  assert.equal(await page.evaluate('later'), null)
  await visit.leave()
})
