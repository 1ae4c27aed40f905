import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openStage, tokenOf } from './stage.ts'
import { makeKey, openTokenRoute } from './vendor-side.ts'

const stage = await openStage()
const inside = `document.querySelector('keyrail-keys').shadowRoot`
const width = `document.querySelector('keyrail-keys').getBoundingClientRect().width`
const overflows = 'document.documentElement.scrollWidth > innerWidth'

const parents: Readonly<Record<string, string>> = {
  flex: 'main { display: flex } h1 { display: none }',
  'a centred column':
    'main { display: flex; flex-direction: column; align-items: center; white-space: nowrap }',
  'a grid with auto': 'main { display: grid; grid-template-columns: auto 1fr } h1 { grid-row: 2 }',
  'fit-content': 'main { width: fit-content }',
  'an inline block': 'keyrail-keys { display: inline-block }',
  'a float': 'keyrail-keys { float: left }',
}

test('the element has a width in a parent that asks for it, and fits a phone', async () => {
  const vendor = await stage.makeVendor()
  await makeKey(stage, vendor, 'Build server')
  const visit = await stage.visit({ token: openTokenRoute(stage, vendor).token })
  const { page } = visit
  await visit.text('Build server')
  await page.evaluate(`document.adoptedStyleSheets = [globalThis.around = new CSSStyleSheet()]`)
  for (const [name, style] of Object.entries(parents)) {
    await page.evaluate(`around.replaceSync(${JSON.stringify(style)})`)
    await page.setViewportSize({ width: 1_000, height: 800 })
    assert.ok(Number(await page.evaluate(width)) > 500, `${name}: ${await page.evaluate(width)}`)
    await page.setViewportSize({ width: 375, height: 800 })
    const narrow = Number(await page.evaluate(width))
    assert.ok(narrow > 250 && narrow <= 375, `${name}: ${narrow}`)
    assert.equal(await page.evaluate(overflows), false, name)
  }
  // What gives the width is nothing to read.
  const protocol = await page.context().newCDPSession(page)
  const { nodes } = await protocol.send('Accessibility.getFullAXTree')
  assert.deepEqual(
    nodes.filter(({ ignored, name }) => !ignored && /^[0 ]*0[0 ]*$/.test(name?.value ?? '')),
    [],
  )
  await visit.leave()
})

test('shortcuts of the page take no letter that is typed in a dialog', async () => {
  const vendor = await stage.makeVendor()
  const visit = await stage.visit({
    token: openTokenRoute(stage, vendor).token,
    script: `
      globalThis.listened = []
      for (const type of ['keydown', 'keypress', 'keyup'])
        document.addEventListener(type, event => {
          if (event.target.tagName === 'INPUT') return
          listened.push(type)
          if (event.key === 's') event.preventDefault()
        })
      document.querySelector('keyrail-keys').getToken = () => getToken('first')`,
  })
  const { page } = visit
  await visit.button('Create key').click()
  await page.getByLabel('Name').focus()
  await page.keyboard.type('secrets')
  assert.equal(await page.getByLabel('Name').inputValue(), 'secrets')
  assert.deepEqual(await page.evaluate('listened'), [])
  await page.keyboard.press('Escape')
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  await visit.leave()
})

test('a long name without a space widens no dialog and no page', async () => {
  const vendor = await stage.makeVendor()
  const name = 'W'.repeat(200)
  await makeKey(stage, vendor, name)
  const visit = await stage.visit({ token: openTokenRoute(stage, vendor).token })
  const { page } = visit
  await page.setViewportSize({ width: 375, height: 700 })
  await visit.button(`Revoke ${name}`).click()
  const dialog = page.getByRole('dialog')
  const box = await dialog.getByRole('button', { name: `Revoke ${name}` }).boundingBox()
  assert.ok(box !== null && box.x >= 0 && box.x + box.width <= 375, JSON.stringify(box))
  assert.equal(
    await page.evaluate(
      `(dialog => dialog.scrollWidth > dialog.clientWidth)(${inside}.querySelector('dialog'))`,
    ),
    false,
  )
  await visit.leave()
})

test('properties of the page do not get in, and a hidden ancestor hides the element', async () => {
  const vendor = await stage.makeVendor()
  const visit = await stage.visit({
    token: openTokenRoute(stage, vendor).token,
    style: ':root { --theme-accent: #ff0000; --theme-radius: 40px } main.away { visibility: hidden }',
  })
  const { page } = visit
  const primary = `(({ backgroundColor, borderTopLeftRadius }) => [backgroundColor, borderTopLeftRadius])(
    getComputedStyle(${inside}.querySelector('.primary')))`
  await visit.button('Create key').waitFor()
  const [ground, radius] = (await page.evaluate(primary)) as string[]
  assert.notEqual(ground, 'rgb(255, 0, 0)')
  assert.equal(radius, '6px')
  await page.evaluate(`document.querySelector('main').className = 'away'`)
  assert.equal(await page.locator('keyrail-keys .primary').isVisible(), false)
  await visit.leave()
})

test('a page that unsets every style, in huge letters, shows the element as any other does', async () => {
  const vendor = await stage.makeVendor()
  await makeKey(stage, vendor, 'Build server', { scopes: ['charges:read'] })
  const visit = await stage.visit({
    token: openTokenRoute(stage, vendor).token,
    style: '* { all: unset } html { font-size: 60px } main { font: 60px/3 serif; letter-spacing: 4px }',
  })
  const { page } = visit
  await page.locator('svg').waitFor()
  await visit.look('unset')
  const look = `(() => {
    const of = name => ${inside}.querySelector(name)
    const { fontSize, lineHeight, letterSpacing } = getComputedStyle(of('[part=key-name]'))
    const { width } = of('.root').getBoundingClientRect()
    return { fontSize, lineHeight, letterSpacing, isWide: width > 1_000 }
  })()`
  assert.deepEqual(await page.evaluate(look), {
    fontSize: '14px',
    lineHeight: '21px',
    letterSpacing: 'normal',
    isWide: true,
  })
  await visit.button('Rotate Build server').click()
  const box = await page.getByRole('dialog').boundingBox()
  assert.ok(box !== null && box.x > 0 && box.width === 480, JSON.stringify(box))
  await visit.look('unset-dialog')
  await visit.leave()
})

test('inside a shadow root of the page, it has its language, and the page hears its events', async () => {
  const vendor = await stage.makeVendor()
  const visit = await stage.visit({
    token: openTokenRoute(stage, vendor).token,
    body: '<section lang="de"></section>',
    script: `
      const element = document.createElement('keyrail-keys')
      element.baseUrl = '${stage.url}'
      element.getToken = () => getToken('first')
      globalThis.outer = document.querySelector('section').attachShadow({ mode: 'open' })
      outer.append(element)`,
  })
  const { page } = visit
  await visit.text('Noch keine Schlüssel')
  await page.evaluate(`outer.host.lang = 'fr'`)
  await visit.button('Créer une clé').click()
  await page.getByLabel('Nom').fill('Dedans')
  await page.getByRole('dialog').getByRole('button', { name: 'Créer une clé' }).click()
  await page.getByLabel('Je l’ai conservée').check()
  await visit.button('Terminé').click()
  await visit.button('Révoquer Dedans').waitFor()
  assert.deepEqual(await visit.eventNames(), ['created'])
  await visit.leave()
})

test('from right to left, a scope stands beside its box', async () => {
  const vendor = await stage.makeVendor()
  const visit = await stage.visit({ token: () => tokenOf(stage, vendor), dir: 'rtl' })
  const { page } = visit
  await page.setViewportSize({ width: 375, height: 700 })
  await visit.button('Create key').click()
  const row = page.locator('label.box').filter({ hasText: 'refunds' })
  const [box, text] = [await row.locator('input').boundingBox(), await row.locator('bdi').boundingBox()]
  assert.ok(box !== null && text !== null)
  const gap = box.x - (text.x + text.width)
  // The box of the text ends at the text, however wide the row is.
  assert.ok(gap >= 0 && gap < 16 && text.width < 120, JSON.stringify({ box, text }))
  await visit.leave()
})
