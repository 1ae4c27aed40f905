import assert from 'node:assert/strict'
import { test } from 'node:test'
import { until } from '../../server/test/until.ts'
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
  await until(() => asked.length === 12)
  assert.equal(most.ever, 4)
  assert.equal(asked.length, new Set(asked).size)
  await visit.leave()
})

test('of more than 100 keys, the newest 100 are listed, and the page says so', async () => {
  const vendor = await stage.makeVendor()
  await makeKey(stage, vendor, 'The oldest')
  for (let i = 1; i <= 100; i += 1) await makeKey(stage, vendor, `Key ${i}`)
  const visit = await stage.visit({ token: () => tokenOf(stage, vendor) })
  await visit.text('The newest 100 keys are shown.')
  assert.equal(await visit.page.locator('[part=key]').count(), 100)
  assert.equal(await visit.page.getByText('The oldest').count(), 0)
  await visit.leave()
})

test('the bars of a row stay while newer ones are asked for, and if they cannot be had', async () => {
  const vendor = await stage.makeVendor()
  await makeKey(stage, vendor, 'Build server')
  const visit = await stage.visit({ token: () => tokenOf(stage, vendor), mayFail: /ERR_FAILED/ })
  const { page } = visit
  const bars = (count: number) => page.getByRole('img', { name: new RegExp(`^${count} requests in 30 days`) })
  await bars(0).waitFor()
  let answer = Promise.withResolvers<number | null>()
  let asked = 0
  await page.route(`${api}/keys/*/usage*`, async route => {
    asked += 1
    const total = await answer.promise
    if (total === null) return route.abort()
    const response = await route.fetch()
    const json = await response.json()
    json.data[0].request_count = total
    await route.fulfill({ response, json: { ...json, total } })
  })
  const refresh = async () => {
    const before = asked
    await page.evaluate(`document.querySelector('keyrail-keys').refresh()`)
    await until(() => asked > before)
  }
  await refresh()
  assert.equal(await bars(0).count(), 1)
  answer.resolve(12)
  await bars(12).waitFor()
  answer = Promise.withResolvers()
  await refresh()
  const failed = page.waitForEvent('requestfailed')
  answer.resolve(null)
  await failed
  // A list that comes again asks again.
  answer = Promise.withResolvers()
  await refresh()
  assert.equal(await bars(12).count(), 1)
  answer.resolve(34)
  await bars(34).waitFor()
  await visit.leave()
})

test('a hidden tab renews no token, and renews at once when it wakes', async () => {
  const vendor = await stage.makeVendor()
  const route = openTokenRoute(stage, vendor)
  const visit = await stage.visit({ token: route.token, hasClock: true })
  const { page } = visit
  await visit.text('No keys yet')
  const hide = (isHidden: boolean) =>
    page.evaluate(`
      Object.defineProperty(document, 'hidden', { configurable: true, get: () => ${isHidden} })
      document.dispatchEvent(new Event('visibilitychange'))`)
  await hide(true)
  await page.clock.fastForward(600_000)
  assert.equal(route.asked, 1)
  const renewed = page.waitForResponse(/token/)
  await hide(false)
  await renewed
  assert.equal(route.asked, 2)
  await visit.leave()
})
