import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openStage, tokenOf } from './stage.ts'
import { makeKey } from './vendor-side.ts'

const stage = await openStage()

test('the texts follow when the page or the part around the element changes its language', async () => {
  const vendor = await stage.makeVendor()
  const visit = await stage.visit({ token: () => tokenOf(stage, vendor) })
  await visit.text('No keys yet')
  await visit.page.evaluate(`document.documentElement.lang = 'de'`)
  await visit.text('Noch keine Schlüssel')
  await visit.page.evaluate(`document.querySelector('main').lang = 'fr'`)
  await visit.text('Aucune clé pour l’instant')
  await visit.page.evaluate(`document.querySelector('keyrail-keys').lang = 'es'`)
  await visit.text('Aún no hay claves')
  await visit.leave()
})

test('on a page that names no language, the texts are in that of the browser', async () => {
  const vendor = await stage.makeVendor()
  const visit = await stage.visit({ token: () => tokenOf(stage, vendor), lang: '', locale: 'de-DE' })
  await visit.text('Noch keine Schlüssel')
  await visit.leave()
})

test('in another language, English texts have English dates and run from left to right', async () => {
  const vendor = await stage.makeVendor()
  await makeKey(stage, vendor, 'Build server')
  const visit = await stage.visit({ token: () => tokenOf(stage, vendor), lang: 'ar', dir: 'rtl' })
  await visit.text(/^Created [A-Z][a-z]{2} \d+, \d{4}$/)
  await visit.page.locator('svg').waitFor()
  const styles = await visit.page.evaluate(`(() => {
    const inside = document.querySelector('keyrail-keys').shadowRoot
    const styleOf = name => getComputedStyle(inside.querySelector(name))
    return [styleOf('.root').direction, styleOf('svg').transform]
  })()`)
  assert.deepEqual(styles, ['ltr', 'none'])
  await visit.leave()
})
