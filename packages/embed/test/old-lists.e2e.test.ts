import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openStage, tokenOf } from './stage.ts'
import { makeKey } from './vendor-side.ts'

const stage = await openStage()

for (const [what, event] of [
  ['its tab is seen again', `document.dispatchEvent(new Event('visibilitychange', { bubbles: true }))`],
  ['the network is back', `dispatchEvent(new Event('online'))`],
] as const)
  test(`a list that is older than a minute is loaded again when ${what}`, async () => {
    const vendor = await stage.makeVendor()
    const visit = await stage.visit({ token: () => tokenOf(stage, vendor), hasClock: true })
    const { page } = visit
    await visit.text('No keys yet')
    await makeKey(stage, vendor, 'From elsewhere')
    const asked: string[] = []
    page.on('request', request => asked.push(new URL(request.url()).pathname))
    const hide = (isHidden: boolean) =>
      page.evaluate(`Object.defineProperty(document, 'hidden', { value: ${isHidden}, configurable: true })`)
    await page.clock.fastForward(50_000)
    await page.evaluate(event)
    await page.clock.fastForward(20_000)
    await hide(true)
    await page.evaluate(event)
    await hide(false)
    await page.evaluate(event)
    await visit.text('From elsewhere')
    // It is new now; the last load is this one.
    await page.evaluate(event)
    await page.evaluate(`document.querySelector('keyrail-keys').refresh()`)
    assert.equal(asked.filter(path => path.endsWith('/session')).length, 2)
    await visit.leave()
  })
