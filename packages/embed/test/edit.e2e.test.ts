import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openStage, tokenOf, type Visit } from './stage.ts'
import { makeKey } from './vendor-side.ts'

const stage = await openStage()
const { ask } = stage.harness

/** A customer in New Zealand, thirteen hours ahead of UTC in January, with one key. */
async function visitWith(more: Record<string, unknown> = {}, options: { aheadMs?: number } = {}) {
  const vendor = await stage.makeVendor()
  const { id } = await makeKey(stage, vendor, 'Build server', more)
  const visit = await stage.visit({
    token: () => tokenOf(stage, vendor),
    timeZone: 'Pacific/Auckland',
    ...options,
  })
  /** The bodies that the page has sent. */
  const sent: unknown[] = []
  visit.page.on('request', request => {
    if (request.method() === 'PATCH') sent.push(request.postDataJSON())
  })
  const stored = async () => (await ask('GET', `/v1/keys/${id}`, { token: vendor.live })).body
  return { vendor, id, visit, sent, stored }
}

const dialogOf = ({ page }: Visit) => page.getByRole('dialog', { name: 'Edit Build server' })
const nameOf = ({ page }: Visit) => page.getByLabel('Name')
const endOf = ({ page }: Visit) => page.getByLabel('Expires on')
const save = (visit: Visit) => visit.button('Save').click()
const isClosed = ({ page }: Visit) => page.getByRole('dialog').waitFor({ state: 'detached' })

test('a customer renames a key by mouse, and an end that is left alone is not sent', async () => {
  const { visit, sent, stored } = await visitWith({ expires_at: '2090-01-31T09:30:00Z' })
  await visit.button('Edit Build server').click()
  assert.equal(await nameOf(visit).inputValue(), 'Build server')
  assert.equal(await endOf(visit).inputValue(), '2090-01-31')
  await nameOf(visit).fill(' Deploys ')
  await endOf(visit).fill('2090-01-30')
  await endOf(visit).fill('2090-01-31')
  await save(visit)
  await isClosed(visit)
  await visit.page.getByRole('heading', { name: 'Deploys', exact: true }).waitFor()
  await visit.page
    .getByRole('status')
    .filter({ hasText: 'The key is changed.' })
    .waitFor({ state: 'attached' })
  await visit.page.locator('button:focus[aria-label="Edit Deploys"]').waitFor()
  assert.deepEqual(sent, [{ name: 'Deploys' }])
  const { name, expires_at, id } = await stored()
  assert.deepEqual([name, expires_at], ['Deploys', '2090-01-31T09:30:00.000Z'])
  assert.deepEqual(await visit.events(), [`updated ${JSON.stringify({ id, name, expires_at })}`])
  await visit.button('Edit Deploys').click()
  await nameOf(visit).fill('')
  await save(visit)
  await visit.button('Edit Unnamed key').waitFor()
  assert.equal((await stored()).name, null)
  await visit.leave()
})

test('a customer gives a key an end by keyboard alone: the end of that day where they are', async () => {
  const { visit, sent, stored } = await visitWith()
  const { keyboard } = visit.page
  await visit.button('Edit Build server').focus()
  await keyboard.press('Enter')
  await dialogOf(visit).waitFor()
  await visit.look('edit')
  await visit.page.locator('input:focus').waitFor()
  await keyboard.press('Tab')
  await keyboard.type('01302090')
  await keyboard.press('Enter')
  await isClosed(visit)
  await visit.text('Expires Jan 30, 2090')
  await visit.page.locator('button:focus', { hasText: 'Edit' }).waitFor()
  assert.deepEqual(sent, [{ expires_at: '2090-01-30T10:59:59.999Z' }])
  assert.equal((await stored()).expires_at, '2090-01-30T10:59:59.999Z')
  await keyboard.press('Enter')
  assert.equal(await endOf(visit).inputValue(), '2090-01-30')
  await keyboard.press('Escape')
  await isClosed(visit)
  await visit.page.locator('button:focus', { hasText: 'Edit' }).waitFor()
  await visit.look('edited')
  await visit.leave()
})

test('saving or cancelling without a change sends nothing', async () => {
  const { visit, sent } = await visitWith({ expires_at: '2090-01-31T09:30:00Z' })
  await visit.button('Edit Build server').click()
  await save(visit)
  await isClosed(visit)
  await visit.button('Edit Build server').click()
  await nameOf(visit).fill('Not saved')
  await visit.button('Cancel').click()
  await isClosed(visit)
  await visit.button('Edit Build server').click()
  assert.equal(await nameOf(visit).inputValue(), 'Build server')
  assert.deepEqual(sent, [])
  assert.deepEqual(await visit.events(), [])
  await visit.leave()
})

test('the form takes no later end, no past one and none in place of one', async () => {
  const { visit, sent } = await visitWith(
    { expires_at: '2090-01-31T09:30:00Z' },
    { aheadMs: 800 * 86_400_000 },
  )
  await visit.button('Edit Build server').click()
  await visit.text('Once set, it can only become earlier.')
  const fault = (name: string) =>
    endOf(visit).evaluate((field, of) => Reflect.get(Reflect.get(field, 'validity'), of), name)
  for (const [end, name] of [
    ['2090-02-01', 'rangeOverflow'],
    ['2020-01-01', 'rangeUnderflow'],
    ['', 'valueMissing'],
  ] as const) {
    await endOf(visit).fill(end)
    assert.equal(await fault(name), true, name)
    await save(visit)
    await dialogOf(visit).waitFor()
  }
  assert.deepEqual(sent, [])
  // By the service's clock, though that of the machine is two years ahead.
  const { date } = (await ask('GET', '/healthz')).headers
  const today = new Intl.DateTimeFormat('sv', { timeZone: 'Pacific/Auckland' }).format(
    new Date(date ?? Date.now()),
  )
  assert.equal(await endOf(visit).getAttribute('min'), today)
  await visit.leave()
})

test('an end that is later than the vendor’s new one is marked at its field, and can be fixed', async () => {
  const { vendor, id, visit, stored } = await visitWith({ expires_at: '2090-01-31T09:30:00Z' })
  await visit.button('Edit Build server').click()
  await endOf(visit).fill('2090-01-20')
  await ask('PATCH', `/v1/keys/${id}`, { token: vendor.live, body: { expires_at: '2090-01-10T00:00:00Z' } })
  await save(visit)
  await visit.text('This is not accepted.')
  await visit.look('edit-refused')
  assert.equal(await endOf(visit).getAttribute('aria-invalid'), 'true')
  assert.equal(await endOf(visit).getAttribute('aria-describedby'), 'expires_at lead')
  assert.deepEqual(await visit.page.locator('#expires_at, #lead').allTextContents(), [
    'This is not accepted.',
    'Once set, it can only become earlier.',
  ])
  assert.equal(await endOf(visit).inputValue(), '2090-01-20')
  await endOf(visit).fill('2090-01-05')
  assert.equal(await endOf(visit).getAttribute('aria-invalid'), null)
  await save(visit)
  await isClosed(visit)
  assert.equal((await stored()).expires_at, '2090-01-05T10:59:59.999Z')
  await visit.leave()
})

test('a key that was revoked meanwhile is named as one that no longer works', async () => {
  const { vendor, id, visit } = await visitWith()
  await visit.button('Edit Build server').click()
  await nameOf(visit).fill('Deploys')
  await ask('POST', `/v1/keys/${id}/revoke`, { token: vendor.live })
  await save(visit)
  await visit.page.getByRole('alert').getByText('This key no longer works.').waitFor()
  await visit.button('Cancel').click()
  await isClosed(visit)
  await visit.leave()
})

test('the form waits for its answer, and cannot be left or sent again until then', async () => {
  const { visit, sent } = await visitWith()
  const answer = Promise.withResolvers<void>()
  await visit.page.route(`${stage.url}/v1/embed/keys/*`, async route => {
    if (route.request().method() === 'PATCH') await answer.promise
    await route.fallback()
  })
  await visit.button('Edit Build server').click()
  await nameOf(visit).fill('Deploys')
  await save(visit)
  await visit.page.locator('button[aria-disabled=true]', { hasText: 'Save' }).waitFor()
  await visit.button('Save').click({ force: true })
  await visit.button('Cancel').click({ force: true })
  await visit.page.keyboard.press('Escape')
  await dialogOf(visit).waitFor()
  answer.resolve()
  await isClosed(visit)
  assert.deepEqual(sent, [{ name: 'Deploys' }])
  await visit.leave()
})

test('Edit is not there for a reader, an expired key, or a service that does not know it', async () => {
  const vendor = await stage.makeVendor()
  await makeKey(stage, vendor, 'Build server')
  await makeKey(stage, vendor, 'Ended', { expires_at: '2020-01-01T00:00:00Z' })
  const edits = ({ page }: Visit) => page.getByRole('button', { name: /^Edit / })
  const reader = await stage.visit({ token: () => tokenOf(stage, vendor, { scopes: ['keys:read'] }) })
  await reader.text('Build server')
  assert.equal(await edits(reader).count(), 0)
  await reader.leave()
  const visit = await stage.visit({ token: () => tokenOf(stage, vendor) })
  await visit.button('Edit Build server').waitFor()
  assert.equal(await edits(visit).count(), 1)
  await visit.page.route(`${stage.url}/v1/embed/session`, async route => {
    const response = await route.fetch()
    const { can, ...session } = await response.json()
    const { update: _, ...older } = can
    await route.fulfill({ response, json: { ...session, can: older } })
  })
  await visit.page.evaluate(`document.querySelector('keyrail-keys').refresh()`)
  await edits(visit).waitFor({ state: 'detached' })
  await visit.button('Rotate Build server').waitFor()
  await visit.leave()
})
