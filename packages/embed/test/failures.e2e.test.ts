import assert from 'node:assert/strict'
import { test } from 'node:test'
import { answerWith } from './answer-with.ts'
import { assertKept, begin, isMade, submit } from './filled-form.ts'
import { openStage, tokenOf } from './stage.ts'
import { endTokens, makeKey, openTokenRoute } from './vendor-side.ts'

const stage = await openStage()
const { ask } = stage.harness
const api = `${stage.url}/v1/embed`

test('a token that ends while a dialog is open is renewed once, and the change is made', async () => {
  const vendor = await stage.makeVendor()
  const route = openTokenRoute(stage, vendor)
  const visit = await stage.visit({ token: route.token })
  await visit.text('No keys yet')
  await begin(visit)
  await endTokens(stage, vendor)
  await submit(visit)
  await isMade(visit)
  assert.equal(route.asked, 2)
  await visit.leave()
})

test('a second refusal ends the session; what was typed stays, and the next try works', async () => {
  const vendor = await stage.makeVendor()
  const old = await tokenOf(stage, vendor)
  let isOver = false
  const visit = await stage.visit({
    token: async () => (isOver ? old : tokenOf(stage, vendor)),
  })
  await visit.text('No keys yet')
  await begin(visit)
  await endTokens(stage, vendor)
  isOver = true
  await submit(visit)
  await visit.text('Your session has ended')
  await visit.look('ended-in-dialog')
  await assertKept(visit.page)
  isOver = false
  await submit(visit)
  await isMade(visit)
  assert.deepEqual(await visit.eventNames(), ['error', 'session-ended', 'created'])
  await visit.leave()
})

test('without a token the session has ended, and Try again gets one', async () => {
  const vendor = await stage.makeVendor()
  const route = openTokenRoute(stage, null)
  const visit = await stage.visit({ token: route.token, mayFail: /token\/first/ })
  await visit.text('Your session has ended')
  await visit.look('ended')
  route.vendor = vendor
  await visit.button('Try again').click()
  await visit.text('No keys yet')
  await visit.leave()
})

test('a token is renewed in silence a minute before it ends, and when a hung renewal is over', async () => {
  const vendor = await stage.makeVendor()
  let asked = 0
  let hangs = false
  const visit = await stage.visit({
    token() {
      asked += 1
      return hangs ? new Promise(() => {}) : tokenOf(stage, vendor)
    },
    hasClock: true,
    mayFail: /getToken.. is awaited/,
  })
  const { clock } = visit.page
  // Only the clock of the page is moved, so it must not hear the service's time.
  await visit.page.route(`${api}/**`, async route => {
    const answer = await route.fetch()
    await route.fulfill({ response: answer, headers: { ...answer.headers(), date: '' } })
  })
  await visit.page.reload()
  await visit.text('No keys yet')
  await clock.fastForward(235_000)
  assert.equal(asked, 2)
  const renewed = visit.page.waitForResponse(/token/)
  await clock.fastForward(10_000)
  await renewed
  assert.equal(asked, 3)
  hangs = true
  await begin(visit)
  const begun = visit.page.waitForRequest(/token/)
  await clock.fastForward(245_000)
  await begun
  // The old token still works.
  await submit(visit)
  await isMade(visit)
  await visit.page.getByLabel('I have stored it').check()
  await visit.button('Done').click()
  await begin(visit)
  await clock.fastForward(60_000)
  await submit(visit)
  await clock.fastForward(5_000)
  await clock.fastForward(10_000)
  await visit.text('This page has not answered yet')
  await assertKept(visit.page)
  hangs = false
  await submit(visit)
  await isMade(visit)
  await visit.leave()
})

test('however many calls wait, one renewal runs', async () => {
  const vendor = await stage.makeVendor()
  const route = openTokenRoute(stage, vendor)
  const visit = await stage.visit({
    body: '<p>No element</p>',
    script: `
      const { createEmbedClient } = await import('./widget.js')
      globalThis.client = createEmbedClient({ baseUrl: '${stage.url}', getToken: () => getToken('client') })
      document.querySelector('p').textContent = 'Ready'`,
    token: route.token,
  })
  const many = 'Promise.all(Array.from({ length: 8 }, () => client.session())).then(all => all.length)'
  await visit.text('Ready')
  assert.equal(await visit.page.evaluate(many), 8)
  assert.equal(route.asked, 1)
  await endTokens(stage, vendor)
  assert.equal(await visit.page.evaluate(many), 8)
  assert.equal(route.asked, 2)
  await visit.leave()
})

test('a page whose origin is not registered says so to the developer', async () => {
  const vendor = await stage.makeVendor()
  await ask('PATCH', '/v1/workspace', { token: vendor.live, body: { embed_origins: ['https://a.example'] } })
  const logged: string[] = []
  const visit = await stage.visit({
    token: () => tokenOf(stage, vendor),
    mayFail: /keyrail-keys|CORS policy|Failed to load resource/,
  })
  visit.page.on('console', message => logged.push(message.text()))
  await visit.page.reload()
  await visit.text('Keys cannot be shown on this page')
  await visit.look('origin')
  assert.ok(
    logged.some(line => line.includes(`refuses ${stage.site}.`) && line.includes('Settings, Embed')),
    logged.join('\n'),
  )
  await visit.leave()
})

test('offline, a change is refused in its dialog with everything typed, and works afterwards', async () => {
  const vendor = await stage.makeVendor()
  const visit = await stage.visit({ token: () => tokenOf(stage, vendor), mayFail: /ERR_INTERNET/ })
  await visit.text('No keys yet')
  await begin(visit)
  await visit.page.context().setOffline(true)
  await submit(visit)
  await visit.text('You are offline')
  // Nothing was sent, so no answer can be lost.
  assert.equal(await visit.page.getByText('The answer was lost.').count(), 0)
  await visit.look('offline')
  await assertKept(visit.page)
  await visit.page.context().setOffline(false)
  await submit(visit)
  await isMade(visit)
  await visit.leave()
})

test('429 and 503 keep what was typed, and a list waits and tries again by itself', async () => {
  const vendor = await stage.makeVendor()
  await makeKey(stage, vendor, 'First')
  const visit = await stage.visit({ token: () => tokenOf(stage, vendor) })
  await visit.text('First')
  await begin(visit)
  const create = { method: 'POST', path: '/keys' }
  await answerWith(stage, visit, create, {
    status: 429,
    code: 'too_many_requests',
    headers: { 'retry-after': '7' },
  })
  await submit(visit)
  await visit.text('Too many requests at once')
  await visit.text('Wait 7 seconds.')
  await assertKept(visit.page)
  await answerWith(stage, visit, create, { status: 503, code: 'unavailable' })
  await submit(visit)
  await visit.text('The service is not available now')
  await assertKept(visit.page)
  await answerWith(stage, visit, create, { status: 500, code: 'internal_error' })
  await submit(visit)
  await visit.text('Reference: req_of_the_test')
  await visit.text('The answer was lost.')
  await visit.look('failed')
  await visit.button('Cancel').click()
  const list = { method: 'GET', path: '/session' }
  await answerWith(stage, visit, list, {
    status: 429,
    code: 'too_many_requests',
    headers: { 'retry-after': '2' },
  })
  await visit.page.evaluate(`document.querySelector('keyrail-keys').refresh()`)
  await visit.text(/Wait \d seconds?\./)
  await visit.page.getByText('Too many requests at once').waitFor({ state: 'detached' })
  await visit.text('First')
  await visit.leave()
})

test('a lost answer says so, and the list shows what happened', async () => {
  const vendor = await stage.makeVendor()
  const visit = await stage.visit({ token: () => tokenOf(stage, vendor), mayFail: /ERR_FAILED/ })
  await visit.text('No keys yet')
  await begin(visit)
  await visit.page.route(`${api}/keys`, async route => {
    if (route.request().method() === 'POST') await route.fetch()
    await (route.request().method() === 'POST' ? route.abort() : route.fallback())
  })
  await submit(visit)
  await visit.text('The answer was lost.')
  await visit.page.getByRole('heading', { name: 'Typed by hand', includeHidden: true }).waitFor()
  await assertKept(visit.page)
  await visit.leave()
})

test('a key that was revoked elsewhere can no longer be rotated, and its dialog says so', async () => {
  const vendor = await stage.makeVendor()
  const key = await makeKey(stage, vendor, 'Short-lived')
  const visit = await stage.visit({ token: () => tokenOf(stage, vendor) })
  await visit.button('Rotate Short-lived').click()
  await ask('POST', `/v1/keys/${key.id}/revoke`, { token: vendor.live })
  await visit.page.getByRole('dialog').getByRole('button', { name: 'Rotate', exact: true }).click()
  await visit.text('This key no longer works.')
  await visit.look('not-active')
  await visit.leave()
})

test('with another tenant’s token, nothing of the first tenant stays', async () => {
  const [acme, other] = [await stage.makeVendor(), await stage.makeVendor()]
  await makeKey(stage, acme, 'Key of Acme')
  await makeKey(stage, other, 'Key of the other')
  const route = openTokenRoute(stage, acme)
  const visit = await stage.visit({ token: route.token })
  await visit.text('Key of Acme')
  await begin(visit)
  await submit(visit)
  await isMade(visit)
  const secret = String(await visit.page.getByRole('dialog').locator('code').textContent())
  route.vendor = other
  await visit.page.evaluate(`document.querySelector('keyrail-keys').refresh()`)
  await visit.text('Key of the other')
  assert.equal(await visit.page.getByRole('dialog').count(), 0)
  for (const text of [secret, 'Key of Acme', 'Typed by hand']) await visit.assertForgotten(text)
  // A change that was typed for the first tenant is not made for the second.
  await begin(visit)
  route.vendor = acme
  await endTokens(stage, other)
  await submit(visit)
  await visit.text('Key of Acme')
  assert.equal(await visit.page.getByRole('dialog').count(), 0)
  const { body } = await ask('GET', '/v1/keys', { token: other.live })
  assert.deepEqual(
    body.data.map(({ name }: { name: string }) => name),
    ['Key of the other'],
  )
  await visit.leave()
})
