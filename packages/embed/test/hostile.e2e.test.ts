import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { answerWith } from './answer-with.ts'
import { begin, isMade, submit } from './filled-form.ts'
import { openStage, tokenOf } from './stage.ts'
import { makeKey, openTokenRoute } from './vendor-side.ts'

const stage = await openStage()
const { ask } = stage.harness
const html = '<img src=x onerror="document.title=1"><script>document.title=2</script>'

test('HTML in a name, a scope, a logo and an error is text', async () => {
  const vendor = await stage.makeVendor()
  const theme = { logo_text: '<b>Acme</b>' }
  await ask('PATCH', '/v1/workspace', { token: vendor.live, body: { embed_theme: theme } })
  await makeKey(stage, vendor, html, { scopes: [html] })
  const scopes = ['keys:read', 'keys:write', `key_scope:${html}`]
  const visit = await stage.visit({ token: () => tokenOf(stage, vendor, { scopes }) })
  const { page } = visit
  await page.getByRole('heading', { name: html, exact: true }).waitFor()
  await visit.text('<b>Acme</b>')
  await page.getByRole('list', { name: 'Scopes' }).getByText(html, { exact: true }).waitFor()
  await visit.button('Create key').click()
  await page.getByRole('checkbox', { name: html, exact: true }).check()
  const create = { method: 'POST', path: '/keys' }
  await answerWith(stage, visit, create, { status: 500, code: html, requestId: html })
  await submit(visit)
  await page.getByRole('alert').getByText(`Reference: ${html}`, { exact: true }).waitFor()
  await visit.button('Cancel').click()
  await visit.button(`Revoke ${html}`).click()
  await page.getByRole('dialog', { name: `Revoke “${html}”?`, exact: true }).waitFor()
  const made = `document.querySelector('keyrail-keys').shadowRoot.querySelectorAll('img, script, b').length`
  assert.deepEqual(await page.evaluate(`[${made}, document.title]`), [0, 'Portal'])
  await visit.leave()
})

test('the element neither sends messages nor hears any, whatever a frame posts', async () => {
  const vendor = await stage.makeVendor()
  const visit = await stage.visit({
    token: openTokenRoute(stage, vendor).token,
    widget: '',
    script: `
      globalThis.listened = []
      globalThis.sent = []
      const { addEventListener: add } = EventTarget.prototype
      EventTarget.prototype.addEventListener = function (type, ...more) {
        listened.push(type)
        return add.call(this, type, ...more)
      }
      for (const port of [window, MessagePort.prototype, BroadcastChannel.prototype]) {
        const { postMessage: post } = port
        port.postMessage = function (...all) {
          sent.push(JSON.stringify(all))
          return post.apply(this, all)
        }
      }
      globalThis.postAsFrame = message => dispatchEvent(new MessageEvent('message', { data: message, origin: location.origin }))
      await import('./widget.js')
      document.querySelector('keyrail-keys').getToken = () => getToken('first')`,
  })
  const { page } = visit
  await visit.text('No keys yet')
  await begin(visit)
  await submit(visit)
  await isMade(visit)
  // The list behind has asked for everything.
  await page.locator('svg').waitFor({ state: 'attached' })
  const before = await page.getByRole('dialog').innerHTML()
  const asked: string[] = []
  page.on('request', request => asked.push(request.url()))
  const messages = [
    { type: 'keyrail-created' },
    { getToken: 'x', token: 'x', baseUrl: 'https://evil.example' },
    'refresh',
    { messages: { heading: 'Polluted' }, method: 'refresh' },
  ]
  for (const message of messages) await page.evaluate(`postAsFrame(${JSON.stringify(message)})`)
  assert.equal(await page.getByRole('dialog').innerHTML(), before)
  assert.deepEqual(asked, [])
  const listened = (await page.evaluate('listened')) as string[]
  assert.ok(listened.includes('visibilitychange'), listened.join())
  assert.ok(!listened.includes('message') && !listened.includes('storage'), listened.join())
  assert.deepEqual(await page.evaluate('[sent, typeof onmessage, onmessage]'), [[], 'object', null])
  await visit.leave()
})

/** Every text that the page's scripts can still reach, after a collection of garbage. */
async function memoryOf(page: Page): Promise<string> {
  const protocol = await page.context().newCDPSession(page)
  const parts: string[] = []
  protocol.on('HeapProfiler.addHeapSnapshotChunk', ({ chunk }) => void parts.push(chunk))
  await protocol.send('HeapProfiler.collectGarbage')
  await protocol.send('HeapProfiler.takeHeapSnapshot', { reportProgress: false })
  await protocol.detach()
  return parts.join('')
}

test('with another tenant’s token, the memory of the page has nothing of the first tenant', async () => {
  const [acme, other] = [await stage.makeVendor(), await stage.makeVendor()]
  // What this test looks for is never sent to the page by the test itself.
  const marks = { name: crypto.randomUUID(), typed: crypto.randomUUID() }
  await makeKey(stage, acme, `Key of Acme ${marks.name}`)
  await makeKey(stage, other, 'Key of the other')
  const route = openTokenRoute(stage, acme)
  const tokens: string[] = []
  const visit = await stage.visit({
    async token() {
      tokens.push(await route.token())
      return tokens.at(-1) ?? ''
    },
  })
  const { page } = visit
  await visit.text(/^Key of Acme/)
  await visit.button('Create key').click()
  await page.getByLabel('Name').focus()
  await page.keyboard.insertText(marks.typed)
  await submit(visit)
  await isMade(visit)
  const secret = String(await page.getByRole('dialog').locator('code').textContent())
  const wanted = { ...marks, secret: secret.slice(-24), token: (tokens[0] ?? '').slice(-40) }
  const during = await memoryOf(page)
  for (const [what, text] of Object.entries(wanted)) assert.ok(during.includes(text), `no ${what} at first`)
  route.vendor = other
  await page.evaluate(`events.length = 0, document.querySelector('keyrail-keys').refresh()`)
  await visit.text('Key of the other')
  const after = await memoryOf(page)
  const left = Object.entries(wanted).filter(([, text]) => after.includes(text))
  assert.deepEqual(
    left.map(([what]) => what),
    [],
  )
  await visit.leave()
})
