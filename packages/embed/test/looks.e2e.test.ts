import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertKept, begin, isMade, submit } from './filled-form.ts'
import { openStage, tokenOf, type Visit } from './stage.ts'
import { makeKey, openTokenRoute } from './vendor-side.ts'

const stage = await openStage()
const inside = `document.querySelector('keyrail-keys').shadowRoot`

test('in forced colours every button has an edge, and bars and placeholders are seen', async () => {
  const vendor = await stage.makeVendor()
  await makeKey(stage, vendor, 'Build server')
  const visit = await stage.visit({
    token: openTokenRoute(stage, vendor).token,
    style: 'keyrail-keys { --keyrail-accent: #333; --keyrail-ground: #333; --keyrail-danger: #333 }',
  })
  const { page } = visit
  await page.emulateMedia({ forcedColors: 'active', colorScheme: 'dark' })
  await page.locator('svg').waitFor()
  await visit.button('Revoke Build server').click()
  const faults = await page.evaluate(`(() => {
    const ground = getComputedStyle(${inside}.querySelector('.root')).backgroundColor
    const faults = []
    for (const one of ${inside}.querySelectorAll('button, dialog')) {
      const { borderTopWidth, borderTopStyle, borderTopColor, color } = getComputedStyle(one)
      if (parseFloat(borderTopWidth) < 1 || borderTopStyle !== 'solid' || borderTopColor === ground)
        faults.push(one.outerHTML + ' has no edge: ' + borderTopColor)
      if (color === ground) faults.push(one.outerHTML + ' has the colour of the ground')
    }
    const bars = getComputedStyle(${inside}.querySelector('path')).fill
    if (bars === ground) faults.push('the bars have the colour of the ground')
    const placeholder = document.createElement('div')
    placeholder.className = 'loading'
    placeholder.innerHTML = '<i></i>'
    ${inside}.querySelector('.root').append(placeholder)
    const { borderTopStyle, borderTopColor } = getComputedStyle(placeholder.firstChild)
    if (borderTopStyle !== 'solid' || borderTopColor === ground) faults.push('placeholders are not seen')
    placeholder.remove()
    return faults
  })()`)
  assert.deepEqual(faults, [])
  await visit.leave()
})

test('at 200 % a dialog with many scopes is in the window, and its buttons can be reached', async () => {
  const vendor = await stage.makeVendor()
  const scopes = Array.from({ length: 28 }, (_, n) => `key_scope:scope-with-a-rather-long-text:${n}`)
  const visit = await stage.visit({
    token: () =>
      tokenOf(stage, vendor, { scopes: ['keys:read', 'keys:write', 'key_scope:refunds', ...scopes] }),
  })
  const { page } = visit
  await visit.text('No keys yet')
  // What a browser makes of a window of 1,280 by 720 at 200 %.
  const protocol = await page.context().newCDPSession(page)
  const zoomed = { width: 640, height: 360, deviceScaleFactor: 2, mobile: false }
  await protocol.send('Emulation.setDeviceMetricsOverride', zoomed)
  await begin(visit)
  const box = await page.getByRole('dialog').boundingBox()
  assert.ok(box !== null && box.x >= 0 && box.y >= 0, JSON.stringify(box))
  assert.ok(box.x + box.width <= 640 && box.y + box.height <= 360, JSON.stringify(box))
  assert.equal(await page.evaluate('document.documentElement.scrollWidth > innerWidth'), false)
  await page.getByLabel('scope-with-a-rather-long-text:27').check()
  await assertKept(page)
  await submit(visit)
  await isMade(visit)
  await page.getByLabel('I have stored it').check()
  await visit.button('Done').click()
  await visit.text('Typed by hand')
  assert.equal(await page.evaluate('document.documentElement.scrollWidth > innerWidth'), false)
  await visit.leave()
})

/** What moves or fades by itself, in any state of the element. */
const motion = `(() => {
  const moving = ${inside}.getAnimations().map(one => String(one.animationName ?? one.transitionProperty))
  for (const one of ${inside}.querySelectorAll('*'))
    for (const part of [undefined, '::before', '::after', '::backdrop']) {
      const { animationName, transitionDuration, scrollBehavior } = getComputedStyle(one, part)
      if (animationName !== 'none' || /[1-9]/.test(transitionDuration) || scrollBehavior === 'smooth')
        moving.push(one.outerHTML + (part ?? ''))
    }
  return moving
})()`

test('nothing moves for a person who wants less motion', async () => {
  const vendor = await stage.makeVendor()
  const visit = await stage.visit({ token: openTokenRoute(stage, vendor).token, script: '' })
  const { page } = visit
  const assertStill = async () => assert.deepEqual(await page.evaluate(motion), [])
  const answer = Promise.withResolvers<void>()
  await page.route(`${stage.url}/v1/embed/session`, async route => {
    await answer.promise
    await route.fallback()
  })
  await page.evaluate(`document.querySelector('keyrail-keys').getToken = () => getToken('first')`)
  await page.getByRole('status').filter({ hasText: 'Loading keys' }).waitFor()
  assert.equal(await page.evaluate(`matchMedia('(prefers-reduced-motion: reduce)').matches`), true)
  await assertStill()
  answer.resolve()
  await begin(visit)
  await assertStill()
  await submit(visit)
  await isMade(visit)
  await assertStill()
  await visit.leave()
})

test('a page from right to left with hostile styles changes nothing inside but the direction', async () => {
  const vendor = await stage.makeVendor()
  await makeKey(stage, vendor, 'مفتاح الخادم', { scopes: ['charges:read'] })
  const visit = await stage.visit({
    token: openTokenRoute(stage, vendor).token,
    dir: 'rtl',
    style: `
      * { unicode-bidi: bidi-override !important; text-align: left !important }
      bdi, code, h3, li, ul { direction: ltr !important; float: left !important; writing-mode: vertical-lr !important }`,
  })
  const { page } = visit
  await page.getByRole('heading', { name: 'مفتاح الخادم' }).waitFor()
  const found = await page.evaluate(`(() => {
    const name = ${inside}.querySelector('[part=key-name]')
    const prefix = ${inside}.querySelector('[part=key-prefix]')
    const actions = ${inside}.querySelector('.actions')
    const { writingMode, unicodeBidi, float, textAlign } = getComputedStyle(name)
    return {
      writingMode, unicodeBidi, float, textAlign,
      prefix: getComputedStyle(prefix).direction,
      isNameRightOfActions: name.getBoundingClientRect().right > actions.getBoundingClientRect().right,
    }
  })()`)
  assert.deepEqual(found, {
    writingMode: 'horizontal-tb',
    unicodeBidi: 'isolate',
    float: 'none',
    textAlign: 'start',
    prefix: 'ltr',
    isNameRightOfActions: true,
  })
  await visit.look('hostile-rtl')
  await visit.leave()
})

/** What the browser gives to a screen reader, in its order: roles, names and states, without what is ignored. */
async function treeOf({ page }: Visit): Promise<string[]> {
  const protocol = await page.context().newCDPSession(page)
  const { nodes } = await protocol.send('Accessibility.getFullAXTree')
  await protocol.detach()
  const roles =
    /^(heading|button|list|dialog|textbox|checkbox|combobox|alert|status|image|group|option|code|Date)$/
  const states = ['modal', 'checked', 'disabled', 'focused', 'busy', 'selected']
  const lines: string[] = []
  const textOf = (id: string): string => {
    const node = nodes.find(({ nodeId }) => nodeId === id)
    if (node?.role?.value === 'StaticText') return String(node.name?.value)
    return (node?.childIds ?? []).map(textOf).join('')
  }
  const walk = (id: string): void => {
    const node = nodes.find(({ nodeId }) => nodeId === id)
    const role = String(node?.role?.value)
    if (node?.ignored === false && roles.test(role)) {
      const { properties = [] } = node
      const on = states.filter(state =>
        properties.some(({ name, value }) => name === state && [true, 'true'].includes(value.value)),
      )
      const name = /alert|status|code/.test(role) ? textOf(id) : node.name?.value
      lines.push([role, JSON.stringify(name), ...on].join(' '))
    }
    for (const child of node?.childIds ?? []) walk(child)
  }
  walk(nodes[0]?.nodeId ?? '')
  return lines
}

test('a screen reader gets the names and states of the list and of each dialog', async () => {
  const vendor = await stage.makeVendor()
  const made = await makeKey(stage, vendor, 'Build server', { scopes: ['charges:read'] })
  const prefix = `code "${made.display_prefix}…"`
  const visit = await stage.visit({ token: openTokenRoute(stage, vendor).token, mayFail: /ERR_FAILED/ })
  const { page } = visit
  await page.locator('svg').waitFor()
  assert.deepEqual(await treeOf(visit), [
    'heading "Portal"',
    'heading "API keys Payments"',
    'button "Create key"',
    'button "Edit: Keys work from"',
    'list "API keys"',
    'heading "Build server"',
    prefix,
    'list "Scopes"',
    'image "0 requests in 30 days."',
    'button "Edit Build server"',
    'button "Rotate Build server"',
    'button "Pause Build server"',
    'button "Revoke Build server"',
    'status ""',
  ])

  await begin(visit)
  const fields = [
    'dialog "Create key" modal',
    'heading "Create key"',
    'textbox "Name"',
    'group "Scopes"',
    'checkbox "charges:read"',
  ]
  const buttons = ['button "Cancel"', 'button "Create key"']
  assert.deepEqual(await treeOf(visit), [...fields, 'checkbox "refunds" checked focused', ...buttons])
  const answer = Promise.withResolvers<void>()
  await page.route(`${stage.url}/v1/embed/keys`, async route => {
    await answer.promise
    await route.abort()
  })
  await submit(visit)
  await page.getByRole('dialog').getByRole('button', { name: 'Create key', disabled: true }).waitFor()
  assert.deepEqual(await treeOf(visit), [
    ...fields,
    'checkbox "refunds" checked',
    'button "Cancel" disabled',
    'button "Create key" disabled focused',
  ])
  answer.resolve()
  await visit.text('The service is not available now')
  assert.deepEqual((await treeOf(visit)).slice(-3), [
    'alert "The service is not available nowThe answer was lost. Look in the list first."',
    'button "Cancel"',
    'button "Create key" focused',
  ])
  await page.unrouteAll()
  await submit(visit)
  await isMade(visit)
  const key = `code "${await page.getByRole('dialog').locator('code').textContent()}"`
  const secret = ['dialog "Store the key now" modal', 'heading "Store the key now"']
  assert.deepEqual(await treeOf(visit), [
    ...secret,
    `${key} focused`,
    'button "Copy key"',
    'status ""',
    'checkbox "I have stored it"',
    'button "Done"',
  ])
  await visit.button('Copy key').click()
  await visit.text('Copied')
  await visit.button('Done').click()
  assert.deepEqual(await treeOf(visit), [
    ...secret,
    key,
    'button "Copy key"',
    'status "Copied"',
    'checkbox "I have stored it"',
    'alert "Close without storing it? The key is lost then."',
    'button "Cancel" focused',
    'button "Close anyway"',
  ])
  await visit.button('Close anyway').click()
  await visit.button('Edit Build server').click()
  assert.deepEqual(await treeOf(visit), [
    'dialog "Edit Build server" modal',
    'heading "Edit Build server"',
    'textbox "Name" focused',
    'Date "Expires on"',
    // The browser's own.
    'button "Show date picker Show date picker"',
    'textbox "Works from"',
    'button "Cancel"',
    'button "Save"',
  ])
  await visit.button('Cancel').click()
  await visit.button('Rotate Build server').click()
  const rotating = (await treeOf(visit)).map(line => line.replace(/(works until ).+\./, '$1…'))
  assert.deepEqual(rotating, [
    'dialog "Rotate Build server" modal',
    'heading "Rotate Build server"',
    prefix,
    'combobox "The old key still works for" focused',
    'option "No time"',
    'option "1 hour"',
    'option "24 hours" selected',
    'option "7 days"',
    'status "The old key works until …"',
    'button "Cancel"',
    'button "Rotate"',
  ])
  await visit.button('Cancel').click()
  await visit.button('Revoke Build server').click()
  assert.deepEqual(await treeOf(visit), [
    'dialog "Revoke “Build server”?" modal',
    'heading "Revoke “Build server”?"',
    'button "Cancel" focused',
    'button "Revoke Build server"',
  ])
  await page.getByRole('dialog').getByRole('button', { name: 'Revoke Build server' }).click()
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  assert.equal((await treeOf(visit)).at(-1), 'status "The key is revoked."')
  await visit.leave()
})
