import assert from 'node:assert/strict'
import { test } from 'node:test'
import { begin, isMade, submit } from './filled-form.ts'
import { openStage, tokenOf } from './stage.ts'
import { makeKey, openTokenRoute } from './vendor-side.ts'

const stage = await openStage()

test('a renewal without a network does not end the session, and the keys come back', async () => {
  const vendor = await stage.makeVendor()
  const visit = await stage.visit({
    token: () => tokenOf(stage, vendor),
    mayFail: /ERR_INTERNET/,
  })
  await visit.text('No keys yet')
  await visit.page.context().setOffline(true)
  await visit.page.evaluate(`document.querySelector('keyrail-keys').refresh()`)
  await visit.text('You are offline')
  assert.deepEqual(await visit.eventNames(), ['error'])
  await visit.page.context().setOffline(false)
  await visit.page.getByText('You are offline').waitFor({ state: 'detached' })
  await visit.leave()
})

test('a network that is back in the moment in which the page says that it is offline is noticed', async () => {
  const vendor = await stage.makeVendor()
  const visit = await stage.visit({ token: () => tokenOf(stage, vendor), mayFail: /ERR_INTERNET/ })
  await visit.text('No keys yet')
  await visit.page.context().setOffline(true)
  await visit.page.evaluate(`(() => {
    const element = document.querySelector('keyrail-keys')
    const root = element.shadowRoot
    globalThis.announced = new Promise(resolve => {
      new MutationObserver((_, observer) => {
        if (!root.textContent.includes('You are offline')) return
        observer.disconnect()
        // The browser still has no network, so the list is asked for once more, and fails once more.
        element.addEventListener('keyrail-error', resolve, { once: true })
        dispatchEvent(new Event('online'))
      }).observe(root, { childList: true, subtree: true })
    })
    element.refresh()
  })()`)
  await visit.page.evaluate('announced')
  await visit.page.context().setOffline(false)
  await visit.page.getByText('You are offline').waitFor({ state: 'detached' })
  await visit.leave()
})

test('a page that takes its function away signs the person out at once', async () => {
  const vendor = await stage.makeVendor()
  const route = openTokenRoute(stage, vendor)
  const visit = await stage.visit({ token: route.token })
  await visit.text('No keys yet')
  await begin(visit)
  await submit(visit)
  await isMade(visit)
  const secret = String(await visit.page.getByRole('dialog').locator('code').textContent())
  await visit.text('Typed by hand')
  const left = await visit.page.evaluate(`(() => {
    const element = document.querySelector('keyrail-keys')
    element.getToken = null
    return element.shadowRoot.textContent
  })()`)
  assert.equal(left, '')
  for (const text of [secret, 'Typed by hand']) await visit.assertForgotten(text)
  await visit.page.evaluate(`document.querySelector('keyrail-keys').refresh()`)
  assert.equal(route.asked, 1)
  await visit.page.evaluate(`document.querySelector('keyrail-keys').getToken = () => getToken('second')`)
  await visit.text('Typed by hand')
  assert.equal(route.asked, 2)
  await visit.leave()
})

test('after the session has ended, another function brings the keys back', async () => {
  const vendor = await stage.makeVendor()
  const visit = await stage.visit({
    token: async name => {
      if (name === 'first') throw new Error('signed out')
      return tokenOf(stage, vendor)
    },
    mayFail: /token\/first/,
  })
  await visit.text('Your session has ended')
  await visit.page.evaluate(`document.querySelector('keyrail-keys').getToken = () => getToken('second')`)
  await visit.text('No keys yet')
  await visit.leave()
})

test('a session that ended is tried once more, however often a page draws another function', async () => {
  const vendor = await stage.makeVendor()
  const visit = await stage.visit({
    token: () => tokenOf(stage, vendor),
    script: `
      globalThis.asked = 0
      globalThis.isSignedIn = false
      const element = document.querySelector('keyrail-keys')
      const draw = () => {
        element.getToken = async () => {
          asked += 1
          if (!isSignedIn) throw new Error('signed out')
          return await getToken('inline')
        }
      }
      // As a framework does, which draws again when the page hears of the end.
      element.addEventListener('keyrail-session-ended', () => asked < 50 && draw())
      // What follows a new function has no network in it, so it is over before the next task.
      globalThis.drawOften = async () => {
        for (let i = 0; i < 5; i += 1) {
          draw()
          await new Promise(resolve => setTimeout(resolve))
        }
        return asked
      }
      draw()`,
  })
  const { page } = visit
  await visit.text('Your session has ended')
  assert.equal(await page.evaluate('drawOften()'), 2)
  await page.evaluate('isSignedIn = true')
  await visit.button('Try again').click()
  await visit.text('No keys yet')
  // The next session that ends.
  await page.evaluate(`isSignedIn = false, document.querySelector('keyrail-keys').refresh()`)
  await visit.text('Your session has ended')
  const asked = Number(await page.evaluate('asked'))
  assert.equal(await page.evaluate('drawOften()'), asked + 1)
  await visit.leave()
})

test('a client of the page, from any copy of the module, turns the element to its tenant', async () => {
  const [acme, other] = [await stage.makeVendor(), await stage.makeVendor()]
  await makeKey(stage, acme, 'Key of Acme')
  await makeKey(stage, other, 'Key of the other')
  const copy = await fetch(`${stage.url}/embed/v1/keyrail-keys.js`)
  const route = openTokenRoute(stage, acme)
  const visit = await stage.visit({
    body: '<keyrail-keys></keyrail-keys>',
    files: { 'copy.js': Buffer.from(await copy.arrayBuffer()) },
    script: `
      const { createEmbedClient } = await import('./copy.js')
      globalThis.client = createEmbedClient({ baseUrl: '${stage.url}', getToken: () => getToken('client') })
      document.querySelector('keyrail-keys').client = client`,
    token: route.token,
    mayFail: /token\/client/,
  })
  await visit.text('Key of Acme')
  await begin(visit)
  route.vendor = other
  await visit.page.evaluate('client.renewToken(), client.session().catch(() => {})')
  await visit.text('Key of the other')
  assert.equal(await visit.page.getByRole('dialog').count(), 0)
  for (const text of ['Key of Acme', 'Typed by hand']) await visit.assertForgotten(text)
  route.vendor = null
  await visit.page.evaluate(`document.querySelector('keyrail-keys').refresh()`)
  await visit.text('Your session has ended')
  assert.deepEqual(await visit.eventNames(), ['error', 'session-ended'])
  await visit.leave()
})
