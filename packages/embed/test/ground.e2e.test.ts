import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openStage } from './stage.ts'
import { makeKey, openTokenRoute } from './vendor-side.ts'

const stage = await openStage()
const inside = `document.querySelector('keyrail-keys').shadowRoot`
const groundOf = (selector: string) =>
  `getComputedStyle(${inside}.querySelector('${selector}')).backgroundColor`

for (const [name, style] of [
  [
    'tinted in both schemes',
    'main { background: light-dark(#fdf0d5, #2b1d3a); color: light-dark(#222, #eee) }',
  ],
  ['dark without a colour scheme', 'main { background: #123; color: #def; color-scheme: only light }'],
] as const)
  test(`on a page that is ${name}, its ground is seen, and everything can be read on it`, async () => {
    const vendor = await stage.makeVendor()
    await makeKey(stage, vendor, 'Build server', { scopes: ['charges:read'] })
    const visit = await stage.visit({ token: openTokenRoute(stage, vendor).token, style })
    await visit.page.locator('svg').waitFor()
    assert.equal(await visit.page.evaluate(groundOf('.root')), 'rgba(0, 0, 0, 0)')
    await visit.look(`ground-${name.split(' ')[0]}`)
    await visit.button('Rotate Build server').click()
    assert.match(String(await visit.page.evaluate(groundOf('dialog'))), /^rgb\(/)
    await visit.look(`ground-${name.split(' ')[0]}-dialog`)
    await visit.leave()
  })

test('a ground that the page sets lies behind the list and its dialogs', async () => {
  const vendor = await stage.makeVendor()
  const visit = await stage.visit({
    token: openTokenRoute(stage, vendor).token,
    style: 'keyrail-keys { --keyrail-ground: #fff3d0; --keyrail-text: #201000 }',
  })
  await visit.button('Create key').click()
  for (const one of ['.root', 'dialog'])
    assert.equal(await visit.page.evaluate(groundOf(one)), 'rgb(255, 243, 208)')
  await visit.look('ground-set')
  await visit.leave()
})
