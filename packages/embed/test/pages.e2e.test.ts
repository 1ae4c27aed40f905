import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openStage, tokenOf } from './stage.ts'
import { makeKey } from './vendor-side.ts'

const stage = await openStage()

const buttonColor = `getComputedStyle(
  document.querySelector('keyrail-keys').shadowRoot.querySelector('.primary'),
).color`

test('two elements on one page manage the keys of two tenants', async () => {
  const [acme, other] = [await stage.makeVendor(), await stage.makeVendor()]
  await makeKey(stage, acme, 'Key of Acme')
  await makeKey(stage, other, 'Key of the other')
  const visit = await stage.visit({
    body: `<keyrail-keys id="acme" base-url="${stage.url}"></keyrail-keys>
      <keyrail-keys id="other" base-url="${stage.url}" locale="fr" density="compact"></keyrail-keys>`,
    script: `for (const id of ['acme', 'other']) document.getElementById(id).getToken = () => getToken(id)`,
    token: name => tokenOf(stage, name === 'acme' ? acme : other),
  })
  const [first, second] = [visit.page.locator('#acme'), visit.page.locator('#other')]
  await first.getByText('Key of Acme').waitFor()
  await second.getByText('Key of the other').waitFor()
  assert.equal(await first.getByText('Key of the other').count(), 0)
  await second.getByRole('button', { name: 'Révoquer Key of the other' }).click()
  await visit.page.getByRole('dialog').getByRole('button', { name: 'Révoquer Key of the other' }).click()
  await second.getByText('Aucune clé pour l’instant').waitFor()
  await first.getByText('Key of Acme').waitFor()
  await visit.leave()
})

test('a page with hostile styles changes nothing inside', async () => {
  const vendor = await stage.makeVendor()
  await makeKey(stage, vendor, 'Build server')
  const visit = await stage.visit({
    token: () => tokenOf(stage, vendor),
    style: `
      * { color: maroon !important; background: white !important; font: 40px/1 cursive !important;
          letter-spacing: 9px !important; text-transform: uppercase !important; visibility: visible }
      button, dialog, li, h2 { display: none !important }
      keyrail-keys { --accent: red; --text: red; line-height: 9; word-spacing: 40px; text-indent: 99px }`,
  })
  await visit.button('Rotate Build server').click()
  await visit.look('hostile')
  const looks = await visit.page.evaluate(`(() => {
    const { color, fontSize, letterSpacing, textTransform, textIndent } =
      getComputedStyle(document.querySelector('keyrail-keys').shadowRoot.querySelector('dialog p'))
    return { color, fontSize, letterSpacing, textTransform, textIndent }
  })()`)
  assert.deepEqual(looks, {
    color: 'rgb(232, 238, 236)',
    fontSize: '14px',
    letterSpacing: 'normal',
    textTransform: 'none',
    textIndent: '0px',
  })
  await visit.leave()
})

test('text on the accent is black or white, whichever contrasts more', async () => {
  const vendor = await stage.makeVendor()
  const visit = await stage.visit({ token: () => tokenOf(stage, vendor) })
  await visit.button('Create key').waitFor()
  for (const [accent, expected] of [
    ['#ffe600', 0],
    ['#000080', 1],
    // Here both contrast alike, 4.6 to 1.
    ['#757575', 1],
    ['#767676', 0],
    ['oklch(0.7 0.2 30)', 0],
  ] as const) {
    await visit.page.evaluate(
      `document.querySelector('keyrail-keys').style.setProperty('--keyrail-accent', '${accent}')`,
    )
    const color = String(await visit.page.evaluate(buttonColor))
    const [y = -1] = [...color.matchAll(/[\d.]+/g)].slice(-2).map(Number)
    assert.equal(Math.round(y), expected, `${accent}: ${color}`)
  }
  await visit.leave()
})

test('messages replace texts as plain text, and change no prototype', async () => {
  const vendor = await stage.makeVendor()
  const visit = await stage.visit({
    token: () => tokenOf(stage, vendor),
    script: `
      Object.prototype.empty = 'From the prototype'
      const element = document.querySelector('keyrail-keys')
      element.messages = JSON.parse('{"__proto__":{"heading":"Polluted"},"constructor":{"prototype":{"x":1}},"create":"<b>Make {name} {__proto__}</b>","toString":"no"}')
      element.locale = 'nl'
      element.getToken = () => getToken('first')`,
  })
  await visit.button('<b>Make {name} {__proto__}</b>').waitFor()
  await visit.text('API keys')
  await visit.text('No keys yet')
  assert.equal(await visit.page.evaluate(`'heading' in {} || 'x' in {}`), false)
  await visit.leave()
})

test('what a page changes later counts at once, and nothing typed is lost', async () => {
  const vendor = await stage.makeVendor()
  const visit = await stage.visit({ token: () => tokenOf(stage, vendor) })
  const { page } = visit
  await visit.button('Create key').click()
  await page.getByLabel('Name').fill('Typed before')
  const change = (script: string) =>
    page.evaluate(`(element => { ${script} })(document.querySelector('keyrail-keys'))`)
  const density = () => page.locator('[part=root]').getAttribute('data-density')
  await change(`element.setAttribute('locale', 'fr')`)
  await page.getByRole('heading', { name: 'Créer une clé' }).waitFor()
  await change(`element.locale = 'ja'`)
  await page.getByRole('heading', { name: 'キーを作成' }).waitFor()
  await change(`element.messages = { create: 'Neu' }`)
  await page.getByRole('heading', { name: 'Neu' }).waitFor()
  await change(`element.messages = null; element.locale = null; element.removeAttribute('locale')`)
  await page.getByRole('heading', { name: 'Create key' }).waitFor()
  await change(`element.setAttribute('density', 'compact')`)
  await page.locator('[data-density=compact]').waitFor()
  await change(`element.density = 'comfortable'`)
  await page.locator('[data-density=comfortable]').waitFor()
  await change(`element.density = 'anything else'`)
  assert.equal(await density(), 'comfortable')
  assert.equal(await page.getByLabel('Name').inputValue(), 'Typed before')
  await visit.leave()
})

test('with trusted types only, the widget works, also when it is taken out and put back', async () => {
  const vendor = await stage.makeVendor()
  const visit = await stage.visit({
    token: () => tokenOf(stage, vendor),
    csp: `default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self' ${stage.url}; require-trusted-types-for 'script'; trusted-types 'none'`,
  })
  const { page } = visit
  await visit.button('Create key').click()
  await page.getByLabel('Name').fill('Build server')
  await page.getByRole('dialog').getByRole('button', { name: 'Create key' }).click()
  await page.getByLabel('I have stored it').check()
  await visit.button('Done').click()
  await page.evaluate(`(element => {
    globalThis.taken = element
    element.remove()
  })(document.querySelector('keyrail-keys'))`)
  await page.waitForFunction(`taken.shadowRoot.textContent === ''`)
  await page.evaluate(`document.querySelector('main').append(taken)`)
  await visit.button('Revoke Build server').waitFor()
  await visit.leave()
})

test('properties set before the script runs count, and a moved element keeps what was typed', async () => {
  const vendor = await stage.makeVendor()
  const visit = await stage.visit({
    token: () => tokenOf(stage, vendor),
    widget: '',
    script: `
      const element = document.querySelector('keyrail-keys')
      element.getToken = () => getToken('first')
      element.locale = 'ja'
      await import('./widget.js')`,
  })
  await visit.button('キーを作成').click()
  await visit.page.getByLabel('名前').fill('Moved')
  await visit.page.evaluate(`document.querySelector('main').prepend(document.querySelector('keyrail-keys'))`)
  assert.equal(await visit.page.getByLabel('名前').inputValue(), 'Moved')
  await visit.page.evaluate(`document.querySelector('keyrail-keys').remove()`)
  await visit.leave()
})
