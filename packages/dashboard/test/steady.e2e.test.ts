import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page, Route } from 'playwright-core'
import { makePerson } from '../../server/test/people.ts'
import { issueKey, makeInvite, makeSecretKey, makeVendor } from '../../server/test/vendor.ts'
import { addressOf, declaredRoutes } from './screens.ts'
import { openStage } from './stage.ts'

const stage = await openStage()
const { harness } = stage

/** A workspace as most are in their first weeks: a row or two in each list. */
async function fill() {
  const vendor = await makeVendor(harness)
  const { workspaceId, live, projectId, tenantId } = vendor
  const { id } = await issueKey(harness, vendor, { name: 'Billing', scopes: ['read'], meta: { plan: 'pro' } })
  const { body: next } = await harness.ask('POST', `/v1/keys/${id}/rotate`, { token: live, body: {} })
  await makeSecretKey(harness, vendor, { name: 'Server', preset: 'node' })
  await makeInvite(harness, vendor, { email: 'zoe@example.com' })
  await harness.ask('GET', `/v1/policy/snapshot?project_id=${projectId}&node=api-1`, { token: live })
  await makePerson(harness.query, { workspaceId, role: 'member', name: 'Bob' })
  const as = await makePerson(harness.query, { workspaceId, role: 'owner', name: 'Ann' })
  return { as, ids: { $keyId: String(next.id), $tenantId: tenantId, $projectId: projectId } }
}

/** Adds up how far what stands on the page jumps, as browsers rate it: the part of the window, by how far it moved. */
const countShifts = `
  window.shifted = 0
  new PerformanceObserver(list => {
    for (const { value, hadRecentInput } of list.getEntries()) if (!hadRecentInput) shifted += value
  }).observe({ type: 'layout-shift', buffered: true })`

const twoFrames = 'new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))'

/** Lets the answers come one after the other, with a frame for each. */
/** @returns ends it, once every answer has had its frame. */
async function answerInTurn(page: Page): Promise<() => Promise<void>> {
  const held: Route[] = []
  let answering = Promise.resolve()
  await page.route('**/v1/**', route => {
    held.push(route)
    answering = answering.then(async () => {
      await held.shift()?.continue()
      await page.evaluate(twoFrames)
    })
  })
  return async () => {
    await page.unrouteAll({ behavior: 'wait' })
    await answering
  }
}

/** Browsers call up to 0.1 good. What has no known height, such as the keys that need attention, moves a little. */
const most = 0.04

for (const width of [1_280, 375]) {
  test(`at ${width} px, what stands on a screen stays there while its answers come`, async () => {
    const { as, ids } = await fill()
    const faults: string[] = []
    for (const { path } of declaredRoutes.filter(({ isInShell }) => isInShell)) {
      const visit = await stage.visit('/app/sign-in', { as, viewport: { width, height: 800 } })
      const { page } = visit
      await page.addInitScript(countShifts)
      const endTurns = await answerInTurn(page)
      await page.goto(addressOf(path.replace(/\$\w+/, name => ids[name as keyof typeof ids])))
      await page.locator('main h1').waitFor()
      await page.locator('[aria-busy="true"]').first().waitFor({ state: 'detached' })
      await page.waitForLoadState('networkidle')
      const shifted = Number(await page.evaluate(`${twoFrames}.then(() => shifted)`))
      if (shifted > most) faults.push(`${path} ${shifted.toFixed(3)}`)
      await endTurns()
      await visit.leave()
    }
    assert.deepEqual(faults, [])
  })
}
