import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { answerWith } from './answer-with.ts'
import { submit } from './filled-form.ts'
import { openStage, tokenOf, type Visit } from './stage.ts'
import { makeKey } from './vendor-side.ts'

const folder = join(import.meta.dirname, '..')
const read = (path: string) => readFileSync(join(folder, path), 'utf8')

/** The parts that README names. */
const [, listed = ''] = /parts with `::part\(\)`:([^.]*)\./.exec(read('README.md')) ?? []
const parts = [...listed.matchAll(/`([a-z-]+)`/g)].map(([, name = '']) => name)
const stage = await openStage()

test('README names every part of the element, and no other', () => {
  const used = globSync('src/widget/*.tsx', { cwd: folder }).flatMap(file =>
    [...read(file).matchAll(/part=(?:"([a-z -]+)"|\{`([a-z -]+) \$)/g)].flatMap(([, text, start]) =>
      (text ?? start ?? '').split(' '),
    ),
  )
  assert.deepEqual(parts.toSorted(), [...new Set(used)].toSorted())
})

/** The parts on the screen that the page's style sheet has marked, and those that it has not. */
const seen = ({ page }: Visit): Promise<{ marked: string[]; unmarked: string[] }> =>
  page.evaluate(`(() => {
    const found = [...document.querySelector('keyrail-keys').shadowRoot.querySelectorAll('[part]')]
    const by = isMarked => found
      .filter(one => (getComputedStyle(one).scrollMarginTop === '7px') === isMarked)
      .flatMap(one => [...one.part])
    return { marked: by(true), unmarked: by(false) }
  })()`)

test('a style sheet of the page reaches every part', async () => {
  const vendor = await stage.makeVendor()
  const ask = (body: object) => stage.harness.ask('PATCH', '/v1/workspace', { token: vendor.live, body })
  await ask({ embed_theme: { logo_text: 'Acme API' } })
  const visit = await stage.visit({
    token: () => tokenOf(stage, vendor, { env: 'test' }),
    // Nothing of the element sets it, and nothing inherits it.
    style: parts.map(part => `keyrail-keys::part(${part}) { scroll-margin-top: 7px }`).join('\n'),
    mayFail: /the service refuses/,
  })
  const { page } = visit
  const reached = new Set<string>()
  const look = async (): Promise<void> => {
    const { marked, unmarked } = await seen(visit)
    assert.deepEqual(unmarked, [])
    for (const part of marked) reached.add(part)
  }
  const refresh = () => page.evaluate(`document.querySelector('keyrail-keys').refresh()`)
  await visit.text('No keys yet')
  await look()
  const { id } = await makeKey(stage, vendor, 'Build server', { env: 'test', scopes: ['charges:read'] })
  await page.route(`${stage.url}/v1/embed/keys?*`, async route => {
    const response = await route.fetch()
    await route.fulfill({ response, json: { ...(await response.json()), has_more: true } })
  })
  await refresh()
  await page.locator('svg').waitFor()
  await look()
  const create = { method: 'POST', path: '/keys' }
  await visit.button('Create key').click()
  await page.evaluate(`(() => {
    const field = document.querySelector('keyrail-keys').shadowRoot.querySelector('dialog input')
    field.value = 'Build\\0server'
    field.dispatchEvent(new Event('input', { bubbles: true, composed: true }))
  })()`)
  await submit(visit)
  await visit.text('This is not accepted.')
  await look()
  await page.getByLabel('Name').fill('Another')
  await answerWith(stage, visit, create, { status: 503, code: 'unavailable' })
  await submit(visit)
  await visit.text('The service is not available now')
  await look()
  await submit(visit)
  await page.getByLabel('I have stored it').waitFor()
  await look()
  await page.getByLabel('I have stored it').check()
  await visit.button('Done').click()
  await visit.button('Revoke Build server').click()
  await look()
  await visit.button('Cancel').click()
  await visit.button('Pause Build server').click()
  await page.getByRole('dialog').getByRole('button', { name: 'Pause Build server' }).click()
  await visit.text('Paused by you')
  await look()
  const hangs = Promise.withResolvers<void>()
  await page.route(`${stage.url}/v1/embed/session`, async route => {
    await hangs.promise
    await route.fallback()
  })
  await page.evaluate(`(() => {
    const element = document.querySelector('keyrail-keys')
    element.getToken = null
    element.getToken = () => getToken('again')
  })()`)
  await page.getByRole('status').filter({ hasText: 'Loading keys' }).waitFor()
  await look()
  hangs.resolve()
  await visit.button('Create key').waitFor()
  const { live: token } = vendor
  const allowed_cidrs = ['203.0.113.0/24']
  await stage.harness.ask('PATCH', `/v1/keys/${id}`, { token, body: { allowed_cidrs } })
  await stage.harness.ask('PATCH', `/v1/tenants/${vendor.tenantId}`, { token, body: { allowed_cidrs } })
  await stage.harness.ask('POST', `/v1/tenants/${vendor.tenantId}/suspend`, { token })
  await refresh()
  await page.getByText('has suspended your account').waitFor()
  await look()
  assert.deepEqual([...reached].toSorted(), parts.toSorted())
  await visit.leave()
})
