import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertKept, begin, isMade, submit } from './filled-form.ts'
import { openStage } from './stage.ts'
import { endTokens, openTokenRoute } from './vendor-side.ts'

const stage = await openStage()
const mayFail = /token\/first/

/** As a proxy answers while the vendor's server starts. */
const starting = (headers: Record<string, string>) =>
  Object.assign(new Error('starting'), { status: 503, headers })

test('a token route that answers 503 is waited for as it says, and no session ends', async () => {
  const vendor = await stage.makeVendor()
  const route = openTokenRoute(stage, vendor)
  let isStarting = true
  const visit = await stage.visit({
    async token() {
      if (isStarting) throw starting({ 'retry-after': '90' })
      return await route.token()
    },
    hasClock: true,
    mayFail,
  })
  await visit.text('The service is not available now')
  await visit.text(/^Wait (90|89) seconds\.$/)
  await visit.look('token-route')
  isStarting = false
  await visit.page.clock.runFor(90_000)
  await visit.text('No keys yet')
  assert.deepEqual(await visit.eventNames(), ['error'])
  await visit.leave()
})

test('a token route that fails during a change loses nothing typed, and the next try works', async () => {
  const vendor = await stage.makeVendor()
  const route = openTokenRoute(stage, vendor)
  let fails: 'not' | 'answers 503' | 'cannot be reached' = 'not'
  const visit = await stage.visit({
    async token() {
      if (fails === 'answers 503') throw starting({ 'retry-after': '30' })
      return await route.token()
    },
    mayFail,
  })
  await visit.page.route('**/token/first', async call => {
    await (fails === 'cannot be reached' ? call.abort() : call.fallback())
  })
  await visit.text('No keys yet')
  await begin(visit)
  for (const way of ['answers 503', 'cannot be reached'] as const) {
    fails = way
    await endTokens(stage, vendor)
    await submit(visit)
    await visit.text('The service is not available now')
    if (way === 'answers 503') await visit.text('Wait 30 seconds.')
    await assertKept(visit.page)
    await visit.page.getByText('The answer was lost.').waitFor({ state: 'detached' })
  }
  await visit.look('token-route-in-dialog')
  fails = 'not'
  await submit(visit)
  await isMade(visit)
  assert.deepEqual(await visit.eventNames(), ['error', 'error', 'created'])
  await visit.leave()
})
