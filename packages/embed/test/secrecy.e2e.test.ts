import assert from 'node:assert/strict'
import { test } from 'node:test'
import { answerWith } from './answer-with.ts'
import { begin, isMade, submit } from './filled-form.ts'
import { openStage } from './stage.ts'
import { openTokenRoute } from './vendor-side.ts'

const stage = await openStage()

test('a page that is left asks first while a new key is not stored, and not afterwards', async () => {
  const vendor = await stage.makeVendor()
  const visit = await stage.visit({ token: openTokenRoute(stage, vendor).token })
  const { page } = visit
  await begin(visit)
  await submit(visit)
  await isMade(visit)
  const secret = await page.getByRole('dialog').locator('code').textContent()
  const [asked] = await Promise.all([page.waitForEvent('dialog'), page.close({ runBeforeUnload: true })])
  assert.equal(asked.type(), 'beforeunload')
  await asked.dismiss()
  assert.equal(await page.getByRole('dialog').locator('code').textContent(), secret)
  await page.getByLabel('I have stored it').check()
  let more = 0
  page.on('dialog', dialog => {
    more += 1
    void dialog.accept()
  })
  await page.reload()
  await visit.text('Typed by hand')
  assert.equal(more, 0)
  await visit.leave()
})

test('a page asks from the moment in which a key is seen to the moment in which it is stored', async () => {
  const vendor = await stage.makeVendor()
  const visit = await stage.visit({ token: openTokenRoute(stage, vendor).token })
  const { page } = visit
  await page.evaluate(`(() => {
    globalThis.asks = () => !dispatchEvent(new Event('beforeunload', { cancelable: true }))
    globalThis.whenSeen = new Promise(resolve => {
      const root = document.querySelector('keyrail-keys').shadowRoot
      new MutationObserver(() => root.querySelector('dialog code') && resolve(asks()))
        .observe(root, { childList: true, subtree: true })
    })
  })()`)
  await begin(visit)
  await submit(visit)
  assert.equal(await page.evaluate('whenSeen'), true)
  const whenStored = await page.evaluate(`(async () => {
    document.querySelector('keyrail-keys').shadowRoot.querySelector('dialog [type=checkbox]').click()
    await null
    await null
    return asks()
  })()`)
  assert.equal(whenStored, false)
  await visit.leave()
})

/** Every place in which a page, a script or a tool would find what the element leaves there. */
const places = `(async () => {
  const attributes = []
  const visit = root => {
    for (const one of root.querySelectorAll('*')) {
      for (const { value } of one.attributes) attributes.push(value)
      if (one.shadowRoot) visit(one.shadowRoot)
    }
  }
  visit(document)
  const stores = [{ ...localStorage }, { ...sessionStorage }, await indexedDB.databases(), document.cookie]
  const address = [history.state, location.href, name, performance.getEntries().map(one => one.name)]
  return JSON.stringify([attributes, stores, address, events])
})()`

test('no token and no key is in an attribute, a store, an address, an event or the console', async () => {
  const vendor = await stage.makeVendor()
  const route = openTokenRoute(stage, vendor)
  const secrets: string[] = []
  const visit = await stage.visit({
    async token() {
      secrets.push(await route.token())
      return secrets.at(-1) ?? ''
    },
  })
  const { page } = visit
  const logged: string[] = []
  page.on('console', message => logged.push(message.text()))
  const assertSecret = async (when: string) => {
    const found = [await page.evaluate(places), ...logged].join()
    for (const secret of secrets) assert.ok(!found.includes(secret.slice(-24)), when)
  }
  await begin(visit)
  await answerWith(stage, visit, { method: 'POST', path: '/keys' }, { status: 500, code: 'internal_error' })
  await submit(visit)
  await visit.text('That did not work')
  await assertSecret('after a failure')
  await submit(visit)
  await isMade(visit)
  secrets.push(String(await page.getByRole('dialog').locator('code').textContent()))
  await assertSecret('while the key is shown')
  await visit.button('Copy key').click()
  await visit.text('Copied')
  await page.getByLabel('I have stored it').check()
  await visit.button('Done').click()
  await page.evaluate(`document.querySelector('keyrail-keys').refresh()`)
  await visit.button('Rotate Typed by hand').click()
  await page.getByRole('dialog').getByRole('button', { name: 'Rotate', exact: true }).click()
  await isMade(visit)
  secrets.push(String(await page.getByRole('dialog').locator('code').textContent()))
  await assertSecret('while the successor is shown')
  assert.equal(new Set(secrets).size, 4)
  await visit.button('Done').click()
  await visit.button('Close anyway').click()
  for (const secret of secrets) await visit.assertForgotten(secret)
  assert.deepEqual(await visit.eventNames(), ['error', 'created', 'rotated'])
  await visit.leave()
})
