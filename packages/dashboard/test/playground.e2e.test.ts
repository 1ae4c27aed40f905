import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { FrameLocator } from 'playwright-core'
import { makePerson } from '../../server/test/people.ts'
import { makeVendor } from '../../server/test/vendor.ts'
import { playedStates } from '../src/screens/embed/played-states.ts'
import { openStage, type Visit } from './stage.ts'

const stage = await openStage()

/** The playground, open. The frame is the page of a company; from then on, every request of the browser is noted. */
async function openPlayground(path = '/app/settings/embed') {
  const acme = await makeVendor(stage.harness)
  const theme = { accent: '#7c3aed', radius: 0, logo_text: 'Acme API' }
  await stage.harness.ask('PATCH', '/v1/workspace', { token: acme.live, body: { embed_theme: theme } })
  const { workspaceId } = acme
  const ann = await makePerson(stage.harness.query, { workspaceId, role: 'admin', name: 'Ann' })
  const visit = await stage.visit(path, {
    as: ann,
    mayFail: /<keyrail-keys>: the (service refuses|playground plays)/i,
  })
  await visit.press('Try the widget')
  const frame = visit.page.frameLocator('iframe')
  await frame.getByText('Build server').first().waitFor()
  // A dialog in a frame cannot be scrolled to by itself.
  await visit.page.locator('iframe').scrollIntoViewIfNeeded()
  const requests: string[] = []
  visit.page.on('request', request => requests.push(request.url()))
  return { visit, frame, requests }
}

const choose = ({ page }: Visit, label: string, option: string) =>
  page.getByRole('combobox', { name: label, exact: true }).selectOption({ label: option })
const colourOf = (frame: FrameLocator, part: string, property: string) =>
  frame
    .locator(`[part~="${part}"]`)
    .first()
    .evaluate((element, name) => {
      const { defaultView } = element.ownerDocument
      return defaultView?.getComputedStyle(element).getPropertyValue(name)
    }, property)

/** What a customer reads in each state. */
const shown: Readonly<Record<string, string | RegExp>> = {
  Keys: 'Winter trial',
  'No keys': 'No keys yet',
  'More than 100 keys': 'The newest 100 keys are shown.',
  Loading: 'Loading keys',
  'Use cannot be had': 'Winter trial',
  'A later list fails': 'The service is not available now',
  'Session ended': 'Your session has ended',
  'Origin not allowed': 'Keys cannot be shown on this page',
  'Wrong baseUrl or getToken': 'The service is not available now',
  'getToken does not answer': 'This page has not answered yet',
  Offline: 'You are offline',
  'Too many requests (429)': 'Too many requests at once',
  'Service unavailable (503)': 'The service is not available now',
  'Unexpected failure (500)': 'Reference: req_',
  'Create key': 'orders:write',
  'Create key, known scopes': 'Name',
  'New key, shown once': /_opens_nothing$/,
  'Edit key': 'Once set, it can only become earlier.',
  'Rotate key': 'The old key still works for',
  'Pause key': 'are refused until you resume it.',
  'Revoke key': 'This cannot be undone.',
  'Token refused, then renewed': /_opens_nothing$/,
  'Limit of keys reached': 'You have as many keys as you may have.',
  'Field not accepted': 'This is not accepted.',
  'Session ended in a form': 'Your session has ended',
  'Too many requests in a form': /^Wait \d+ seconds\.$/,
  'Answer lost': 'The answer was lost.',
  'Key revoked elsewhere': 'This key no longer works.',
  'Key paused elsewhere': 'Paused by Acme',
}

test('every state of the widget can be chosen, and nothing is sent', async () => {
  const { visit, frame, requests } = await openPlayground()
  assert.deepEqual(
    playedStates.map(({ label }) => label),
    Object.keys(shown),
  )
  for (const { label, says } of playedStates) {
    await choose(visit, 'State', label)
    await frame
      .getByText(shown[label] ?? 'no text')
      .first()
      .waitFor()
    await visit.text(says)
  }
  assert.deepEqual(requests, [])
  await visit.leave()
})

test('after a failure in a form, what was typed is there and the next try works', async () => {
  const { visit, frame } = await openPlayground()
  const create = frame.getByRole('dialog').getByRole('button', { name: 'Create key' })
  for (const state of ['Session ended in a form', 'Too many requests in a form', 'Answer lost']) {
    await choose(visit, 'State', state)
    await frame.getByRole('alert').waitFor()
    assert.equal(await frame.getByLabel('Name').inputValue(), 'Nightly export')
    await create.click()
    await frame.getByText(/_opens_nothing$/).waitFor()
  }
  // A limit stays one until a key is revoked.
  await choose(visit, 'State', 'Limit of keys reached')
  await create.click()
  await frame.getByText('You have as many keys as you may have.').waitFor()
  await frame.getByRole('button', { name: 'Cancel' }).click()
  await frame.getByRole('button', { name: 'Revoke Winter trial' }).click()
  await frame.getByRole('dialog').getByRole('button', { name: 'Revoke Winter trial' }).click()
  await frame.getByText('Winter trial').waitFor({ state: 'detached' })
  await frame.getByRole('button', { name: 'Create key' }).click()
  await create.click()
  await frame.getByText(/_opens_nothing$/).waitFor()
  await visit.leave()
})

test('keys stay when a later list fails, and are listed when their use cannot be had', async () => {
  const { visit, frame } = await openPlayground()
  await choose(visit, 'State', 'A later list fails')
  await frame.getByRole('alert').waitFor()
  await frame.getByRole('button', { name: 'Rotate Accounting' }).waitFor()
  await frame.locator('svg').first().waitFor()
  await visit.look('embed-playground-later-list')
  await choose(visit, 'State', 'Use cannot be had')
  await frame.getByRole('alert').waitFor({ state: 'detached' })
  await frame.getByRole('button', { name: 'Rotate Accounting' }).waitFor()
  await frame.locator('svg').first().waitFor({ state: 'detached' })
  await visit.leave()
})

test('the form marks the field that the service does not accept, until it changes', async () => {
  const { visit, frame } = await openPlayground()
  await choose(visit, 'State', 'Field not accepted')
  const name = frame.getByLabel('Name')
  const fault = frame.getByText('This is not accepted.', { exact: true })
  await fault.waitFor()
  assert.equal(await name.getAttribute('aria-invalid'), 'true')
  assert.equal(await name.getAttribute('aria-describedby'), await fault.getAttribute('id'))
  assert.equal(await name.inputValue(), 'Nightly export')
  await visit.look('embed-playground-fault')
  await name.fill('Export at night')
  await fault.waitFor({ state: 'detached' })
  assert.equal(await name.getAttribute('aria-invalid'), null)
  await frame.getByRole('dialog').getByRole('button', { name: 'Create key' }).click()
  await frame.getByText(/_opens_nothing$/).waitFor()
  await visit.leave()
})

test('the page hears the events of a key that is created, changed, rotated and revoked', async () => {
  const { visit, frame, requests } = await openPlayground()
  const dialog = frame.getByRole('dialog')
  const events = visit.page.getByRole('log', { name: 'What your page hears' })
  await frame.getByRole('button', { name: 'Create key' }).click()
  await frame.getByLabel('Name').fill('Tried out')
  await dialog.getByRole('button', { name: 'Create key' }).click()
  await frame.getByLabel('I have stored it').check()
  await frame.getByRole('button', { name: 'Done' }).click()
  await events.getByText(/keyrail-created.*"name":"Tried out"/).waitFor()
  await frame.getByRole('button', { name: 'Edit Tried out' }).click()
  await frame.getByLabel('Expires on').fill('2090-01-31')
  await dialog.getByRole('button', { name: 'Save' }).click()
  await events.getByText(/keyrail-updated.*"expires_at":"2090-/).waitFor()
  await frame.getByRole('button', { name: 'Rotate Tried out' }).click()
  await dialog.getByRole('button', { name: 'Rotate' }).click()
  await frame.getByLabel('I have stored it').check()
  await frame.getByRole('button', { name: 'Done' }).click()
  await events.getByText('keyrail-rotated').waitFor()
  await frame.getByText('Replaced, works until').nth(1).waitFor()
  await frame.getByRole('button', { name: 'Revoke Accounting' }).click()
  await dialog.getByRole('button', { name: 'Revoke Accounting' }).click()
  await events.getByText('keyrail-revoked').waitFor()
  assert.ok(!String(await events.textContent()).includes('_opens_nothing'))
  assert.deepEqual(requests, [])
  await visit.leave()
})

test('what the token may do decides what is there, and a state that needs more resets', async () => {
  const { visit, frame } = await openPlayground('/app/settings/embed?env=test')
  await frame.getByText('Test', { exact: true }).waitFor()
  await choose(visit, 'State', 'Rotate key')
  await frame.getByRole('dialog').waitFor()
  await choose(visit, 'What the token may do', 'Read keys')
  await frame.getByText('Build server').first().waitFor()
  assert.equal(await frame.getByRole('button').count(), 0)
  assert.equal(await visit.page.getByLabel('State', { exact: true }).inputValue(), 'keys')
  await choose(visit, 'What the token may do', 'Create keys, without reading them')
  await frame.getByRole('button', { name: 'Create key' }).waitFor()
  assert.equal(await frame.getByText('Build server').count(), 0)
  await visit.leave()
})

test('the widget has the theme of the workspace, and what the page sets wins', async () => {
  const { visit, frame } = await openPlayground()
  await frame.getByText('Acme API').waitFor()
  assert.equal(await colourOf(frame, 'primary', 'background-color'), 'rgb(124, 58, 237)')
  assert.equal(await colourOf(frame, 'primary', 'border-top-left-radius'), '0px')
  await visit.text('The theme of the workspace counts')
  await visit.fill('Accent in the page', '#ffe600')
  await visit.fill('Danger', '#8b0000')
  await visit.fill('Ground', '#fff8e7')
  await visit.fill('Text', '#222222')
  await visit.fill('Radius in the page', '12')
  await visit.fill('Font', 'Georgia, serif')
  for (const line of [
    '--keyrail-accent: #ffe600;',
    '--keyrail-danger: #8b0000;',
    '--keyrail-ground: #fff8e7;',
    '--keyrail-text: #222222;',
    '--keyrail-radius: 12px;',
    '--keyrail-font: Georgia, serif;',
  ])
    await visit.text(line)
  assert.equal(await colourOf(frame, 'primary', 'background-color'), 'rgb(255, 230, 0)')
  assert.match(String(await colourOf(frame, 'primary', 'color')), / 0 0 0\)$/)
  assert.equal(await colourOf(frame, 'root', 'background-color'), 'rgb(255, 248, 231)')
  assert.equal(await colourOf(frame, 'root', 'font-family'), 'Georgia, serif')
  await visit.look('embed-playground')
  await visit.leave()
})

test('a dialog stays open while language, theme, direction and width of the page change', async () => {
  const { visit, frame } = await openPlayground()
  await choose(visit, 'State', 'New key, shown once')
  await frame.getByText(/_opens_nothing$/).waitFor()
  for (const [language, title] of [
    ['Deutsch', 'Schlüssel jetzt speichern'],
    ['Français', 'Conservez la clé maintenant'],
    ['Español', 'Guarde la clave ahora'],
    ['Português', 'Guarde a chave agora'],
    ['日本語', 'キーを今すぐ保管してください'],
  ] as const) {
    await choose(visit, 'Language', language)
    await frame.getByRole('heading', { name: title }).waitFor()
  }
  await visit.page.getByText('Dark page', { exact: true }).click()
  await visit.page.getByText('Right to left', { exact: true }).click()
  await visit.page.getByText('320 px', { exact: true }).click()
  await visit.page.getByText('Compact', { exact: true }).click()
  const page = frame.locator('html')
  assert.equal(await page.evaluate(html => html.style.colorScheme), 'dark')
  assert.equal(await page.getAttribute('dir'), 'rtl')
  assert.equal(await page.evaluate(html => html.clientWidth), 320)
  await frame.getByText(/_opens_nothing$/).waitFor()
  await visit.look('embed-playground-dialog')
  await visit.leave()
})
