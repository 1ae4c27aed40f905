import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openStage, tokenOf } from './stage.ts'
import { makeKey, openTokenRoute } from './vendor-side.ts'

const stage = await openStage()
const api = `${stage.url}/v1/embed`

test('use is asked for when a row comes into view, four rows at once, and once for each', async () => {
  const vendor = await stage.makeVendor()
  for (let i = 1; i <= 12; i += 1)
    // Rows of some height.
    await makeKey(stage, vendor, `Key ${i}`, { scopes: ['charges:read', 'refunds'] })
  const visit = await stage.visit({ token: () => tokenOf(stage, vendor) })
  const { page } = visit
  await visit.text('Key 12')
  const showAll = async () => {
    for (const row of await page.locator('[part=key]').all()) await row.scrollIntoViewIfNeeded()
  }
  // The first list has asked for all that it needs.
  await showAll()
  await page.locator('svg').nth(11).waitFor()
  const asked: string[] = []
  const most = { now: 0, ever: 0 }
  const answer = Promise.withResolvers<void>()
  await page.route(`${api}/keys/*/usage*`, async route => {
    asked.push(route.request().url())
    most.now += 1
    most.ever = Math.max(most.ever, most.now)
    await answer.promise
    most.now -= 1
    await route.fallback()
  })
  await page.route(`${api}/keys?*`, async route => {
    const response = await route.fetch()
    await route.fulfill({ response, json: { ...(await response.json()), has_more: true } })
  })
  await page.setViewportSize({ width: 320, height: 600 })
  await page.evaluate(`document.querySelector('keyrail-keys').refresh()`)
  await visit.text('The newest 12 keys are shown.')
  // All rows come into view, one after the other, while no answer has come.
  await showAll()
  assert.ok(asked.length <= 4, `${asked.length}`)
  answer.resolve()
  await page.locator('svg').nth(11).waitFor()
  assert.equal(most.ever, 4)
  assert.equal(asked.length, new Set(asked).size)
  await visit.leave()
})

test('a hidden tab renews no token, and renews at once when it wakes', async () => {
  const vendor = await stage.makeVendor()
  const route = openTokenRoute(stage, vendor)
  const visit = await stage.visit({ token: route.token, hasClock: true })
  const { page } = visit
  await visit.text('No keys yet')
  const turn = (state: string) =>
    page.evaluate(`
      Object.defineProperty(document, 'visibilityState', { configurable: true, get: () => '${state}' })
      document.dispatchEvent(new Event('visibilitychange'))`)
  await turn('hidden')
  await page.clock.fastForward(600_000)
  assert.equal(route.asked, 1)
  const renewed = page.waitForResponse(/token/)
  await turn('visible')
  await renewed
  assert.equal(route.asked, 2)
  await visit.leave()
})
