import assert from 'node:assert/strict'
import { test } from 'node:test'
import { answerWith } from './answer-with.ts'
import { openStage, tokenOf } from './stage.ts'
import { makeKey, openTokenRoute } from './vendor-side.ts'

const stage = await openStage()
const { ask } = stage.harness

test('a customer creates, copies, rotates and revokes a key, all by keyboard', async () => {
  const vendor = await stage.makeVendor()
  const visit = await stage.visit({ token: () => tokenOf(stage, vendor) })
  const { page } = visit
  const press = (key: string) => page.keyboard.press(key)
  const focused = () =>
    page.evaluate(`(() => {
      let at = document.activeElement
      while (at?.shadowRoot?.activeElement) at = at.shadowRoot.activeElement
      return at?.getAttribute('aria-label') ?? at?.textContent
    })()`)
  await visit.text('No keys yet')
  await visit.look('empty')
  await visit.button('Create key').focus()
  await press('Enter')
  await page.getByRole('dialog', { name: 'Create key' }).waitFor()
  await visit.look('create')
  await page.keyboard.type('Build server')
  await press('Tab')
  await press('Space')
  await press('Enter')
  const dialog = page.getByRole('dialog', { name: 'Store the key now' })
  await dialog.waitFor()
  const first = String(await dialog.locator('code').textContent())
  await visit.look('secret')
  // Esc asks first, and again.
  for (let i = 0; i < 3; i++) await press('Escape')
  await visit.text('Close without storing it? The key is lost then.')
  await visit.look('secret-guard')
  await visit.button('Cancel').press('Enter')
  await visit.button('Copy key').press('Enter')
  await visit.text('Copied')
  assert.equal(await page.evaluate('navigator.clipboard.readText()'), first)
  await page.getByLabel('I have stored it').press('Space')
  await press('Escape')
  await dialog.waitFor({ state: 'detached' })
  await page.locator('button:focus', { hasText: 'Create key' }).waitFor()
  await visit.assertForgotten(first)
  const { body: list } = await ask('GET', '/v1/keys', { token: vendor.live })
  const made = list.data.find(({ name }: { name: string }) => name === 'Build server')
  assert.deepEqual(made.scopes, ['charges:read'])

  await visit.button('Rotate Build server').press('Enter')
  await visit.text(/^The old key works until /)
  await visit.look('rotate')
  await page.getByLabel('The old key still works for').selectOption('1 hour')
  await page.getByRole('dialog').getByRole('button', { name: 'Rotate', exact: true }).press('Enter')
  await dialog.waitFor()
  const second = String(await dialog.locator('code').textContent())
  assert.notEqual(second, first)
  await page.getByLabel('I have stored it').press('Space')
  await visit.button('Done').press('Enter')
  await dialog.waitFor({ state: 'detached' })
  await visit.text(/^Replaced, works until /)
  await visit.assertForgotten(second)
  await visit.look('list')

  await visit.button('Revoke Build server').first().press('Enter')
  await page.getByRole('dialog', { name: 'Revoke “Build server”?' }).waitFor()
  await visit.look('revoke')
  await page.getByRole('dialog').getByRole('button', { name: 'Revoke Build server' }).press('Enter')
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  assert.match(String(await focused()), /^Build server/)
  const { body: after } = await ask('GET', '/v1/keys?include_revoked=true', { token: vendor.live })
  const revoked = after.data.filter(({ revoked_at }: { revoked_at: string | null }) => revoked_at !== null)
  assert.deepEqual(
    revoked.map(({ rotated_from }: { rotated_from: string }) => rotated_from),
    [made.id],
  )
  assert.deepEqual(await visit.eventNames(), ['created', 'rotated', 'revoked'])
  assert.ok(!(await visit.events()).join().includes(first.slice(-20)))
  await visit.leave()
})

test('what the token may not do is not shown', async () => {
  const vendor = await stage.makeVendor()
  await makeKey(stage, vendor, 'Theirs', { scopes: ['admin'] })
  const reader = await stage.visit({ token: () => tokenOf(stage, vendor, { scopes: ['keys:read'] }) })
  await reader.text('Theirs')
  assert.deepEqual(await reader.page.getByRole('button').allTextContents(), [])
  await reader.leave()
  const writer = await stage.visit({ token: () => tokenOf(stage, vendor, { scopes: ['keys:write'] }) })
  await writer.button('Create key').click()
  assert.equal(await writer.page.getByRole('checkbox').count(), 0)
  await writer.button('Cancel').click()
  assert.equal(await writer.page.getByText('Theirs').count(), 0)
  await writer.leave()
  // A key with a scope that the token cannot give can be revoked, not rotated.
  const both = await stage.visit({ token: () => tokenOf(stage, vendor) })
  await both.button('Revoke Theirs').waitFor()
  assert.equal(await both.button('Rotate Theirs').count(), 0)
  await both.leave()
})

test('names with HTML are text, and a page in another direction and language works', async () => {
  const vendor = await stage.makeVendor()
  const name = '<img src=x onerror=alert(1)> {date} &amp;'
  await makeKey(stage, vendor, name)
  const visit = await stage.visit({ token: () => tokenOf(stage, vendor), lang: 'de', dir: 'rtl' })
  await visit.page.getByRole('heading', { name, exact: true }).waitFor()
  await visit.text('API-Schlüssel')
  await visit.button(`${name} widerrufen`).click()
  await visit.text(`„${name}“ widerrufen?`)
  await visit.look('rtl')
  await visit.leave()
})

test('requests of the last 30 days are bars, with a text for those who do not see them', async () => {
  const vendor = await stage.makeVendor()
  const key = await makeKey(stage, vendor, 'Used')
  const hour = new Date().toISOString()
  const { status } = await ask('POST', '/v1/usage/reports', {
    token: vendor.live,
    body: {
      report_id: crypto.randomUUID(),
      sample_rate: 1,
      records: [{ key_id: key.id, hour, count: 1_234 }],
    },
  })
  assert.equal(status, 202)
  const visit = await stage.visit({ token: () => tokenOf(stage, vendor) })
  await visit.page.getByRole('img', { name: /^1,234 requests in 30 days\. Most on .+: 1,234\.$/ }).waitFor()
  await visit.look('used')
  await visit.leave()
})

test('the focus stays when its button goes, and a hidden tab does not try again', async () => {
  const vendor = await stage.makeVendor()
  const route = openTokenRoute(stage, null)
  const visit = await stage.visit({ token: route.token, mayFail: /token\/first/, hasClock: true })
  const { page } = visit
  await visit.text('Your session has ended')
  route.vendor = vendor
  await visit.button('Try again').press('Enter')
  await page.locator('h2:focus', { hasText: 'API keys' }).waitFor()
  await visit.text('No keys yet')
  await visit.button('Create key').press('Enter')
  await page.keyboard.press('Enter')
  await page.getByRole('dialog', { name: 'Store the key now' }).waitFor()
  await visit.button('Done').press('Enter')
  await visit.text('Close without storing it?')
  await page.locator('button:focus', { hasText: 'Cancel' }).press('Enter')
  await page.locator('button:focus', { hasText: 'Done' }).waitFor()
  await page.getByLabel('I have stored it').check()
  await visit.button('Done').press('Enter')
  assert.equal(await page.locator('ul.keys').getAttribute('role'), 'list')

  const session = { method: 'GET', path: '/session' }
  const calls = await answerWith(stage, visit, session, {
    status: 503,
    code: 'unavailable',
    headers: { 'retry-after': '2' },
  })
  const hide = (isHidden: boolean) =>
    page.evaluate(`Object.defineProperty(document, 'hidden', { value: ${isHidden}, configurable: true })`)
  await hide(true)
  await page.evaluate(`document.querySelector('keyrail-keys').refresh()`)
  await visit.text('The service is not available now')
  await page.clock.runFor(5_000)
  assert.equal(calls.asked, 1)
  await hide(false)
  await page.clock.runFor(1_000)
  await page.getByText('The service is not available now').waitFor({ state: 'detached' })
  assert.equal(calls.asked, 2)
  await visit.leave()
})
