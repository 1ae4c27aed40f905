import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openStage, tokenOf } from './stage.ts'

const stage = await openStage()
const { url, served } = stage
const csp = `default-src 'none'; script-src 'self' ${url}; style-src 'self'; img-src 'self'; connect-src 'self' ${url}`
const body = '<keyrail-keys></keyrail-keys>'

test('a page loads the widget from the service, which is then where its calls go', async () => {
  const vendor = await stage.makeVendor()
  const visit = await stage.visit({
    token: () => tokenOf(stage, vendor),
    widget: `<script type="module" src="${url}/embed/v1/keyrail-keys.js"></script>`,
    csp,
    body,
  })
  await visit.text('No keys yet')
  await visit.leave()
})

test('a page that names the integrity of a version gets this version, and runs no other', async () => {
  const vendor = await stage.makeVendor()
  const answer = await fetch(`${url}/embed/v1/keyrail-keys.json`)
  const { src, integrity } = (await answer.json()) as { src: string; integrity: string }
  assert.deepEqual([src, integrity], [`/embed/v1/${served.file}`, served.integrity])
  const tag = (sum: string) =>
    `<script type="module" src="${url}${src}" integrity="${sum}" crossorigin></script>`
  const visit = await stage.visit({
    token: () => tokenOf(stage, vendor),
    widget: tag(integrity),
    csp,
    body,
  })
  await visit.text('No keys yet')
  await visit.leave()
  const wrong = await stage.visit({
    token: () => tokenOf(stage, vendor),
    widget: tag(integrity.replace(/-../, '-AA')),
    csp,
    body,
    mayFail: /integrity/,
  })
  await wrong.page.waitForLoadState('networkidle')
  assert.equal(await wrong.page.evaluate(`customElements.get('keyrail-keys') === undefined`), true)
  await wrong.leave()
})
