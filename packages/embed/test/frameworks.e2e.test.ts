import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { compileScript, parse } from 'vue/compiler-sfc'
import { bundlePage } from './bundle-page.ts'
import { openStage, tokenOf } from './stage.ts'
import { openTokenRoute } from './vendor-side.ts'

const stage = await openStage()
const body = '<div id="app"></div>'

const reactPage = `
  import { createElement, StrictMode, useState } from 'react'
  import { createRoot } from 'react-dom/client'
  import { KeyrailKeys } from '../../src/react.ts'
  function Page() {
    const [count, setCount] = useState(0)
    const [customer, setCustomer] = useState('first')
    const [status, setStatus] = useState('')
    return createElement('div', null,
      createElement('button', { onClick: () => setCount(count + 1) }, 'Draw again: ' + count),
      createElement('button', { onClick: () => setCustomer('second') }, 'Change customer'),
      createElement('p', null, status),
      createElement(KeyrailKeys, {
        key: customer,
        baseUrl: ${JSON.stringify(stage.url)},
        // Another function with each render.
        getToken: () => getToken(customer),
        messages: { heading: 'Your keys' },
        onCreated: ({ name }) => setStatus('Created ' + name),
      }))
  }
  createRoot(document.getElementById('app')).render(createElement(StrictMode, null, createElement(Page)))`

const pageWithRef = `
  import { createElement, createRef, StrictMode } from 'react'
  import { createRoot } from 'react-dom/client'
  import { KeyrailKeys } from '../../src/react.ts'
  globalThis.keys = createRef()
  const element = createElement(KeyrailKeys, {
    ref: keys,
    baseUrl: ${JSON.stringify(stage.url)},
    getToken: () => getToken('first'),
  })
  createRoot(document.getElementById('app')).render(createElement(StrictMode, null, element))`

const misconfiguredPage = `
  import { createElement } from 'react'
  import { createRoot } from 'react-dom/client'
  import { KeyrailKeys } from '../../src/react.ts'
  globalThis.codes = []
  createRoot(document.getElementById('app')).render(createElement(KeyrailKeys, {
    baseUrl: 'ftp://keys.example.com',
    getToken: async () => '',
    onError: ({ code }) => codes.push(code),
  }))`

const reacts: Record<string, Record<string, string>> = {
  19: {},
  18: { react: 'react18', 'react-dom': 'react-dom18' },
}

for (const [version, alias] of Object.entries(reacts)) {
  test(`React ${version}: a page refreshes by a ref after a new sign-in, and keeps what was typed`, async () => {
    const vendor = await stage.makeVendor()
    const route = openTokenRoute(stage, vendor)
    const visit = await stage.visit({
      body,
      files: { 'app.js': await bundlePage(pageWithRef, alias) },
      widget: '',
      script: `await import('./app.js')`,
      token: route.token,
      mayFail: /token\/first/,
    })
    await visit.button('Create key').click()
    await visit.page.getByLabel('Name').fill('Typed before')
    route.vendor = null
    await visit.page.evaluate('keys.current.refresh()')
    const ended = visit.page.getByText('Your session has ended')
    await ended.waitFor({ state: 'attached' })
    route.vendor = vendor
    await visit.page.evaluate('keys.current.refresh()')
    await ended.waitFor({ state: 'detached' })
    assert.equal(await visit.page.getByLabel('Name').inputValue(), 'Typed before')
    await visit.leave()
  })

  test(`React ${version} in strict mode draws again without a new token, and changes customers`, async () => {
    const [acme, other] = [await stage.makeVendor(), await stage.makeVendor()]
    const asked: string[] = []
    const visit = await stage.visit({
      body,
      files: { 'app.js': await bundlePage(reactPage, alias) },
      widget: '',
      script: `await import('./app.js')`,
      token(name) {
        asked.push(name)
        return tokenOf(stage, name === 'first' ? acme : other)
      },
    })
    await visit.page.getByRole('heading', { name: 'Your keys' }).waitFor()
    await visit.text('No keys yet')
    await visit.button('Create key').click()
    await visit.page.getByLabel('Name').fill('From React')
    await visit.page.evaluate(`document.querySelector('button').click()`)
    await visit.page.getByRole('button', { name: 'Draw again: 1', includeHidden: true }).waitFor()
    assert.equal(await visit.page.getByLabel('Name').inputValue(), 'From React')
    await visit.page.getByRole('dialog').getByRole('button', { name: 'Create key' }).click()
    await visit.text('Created From React')
    await visit.page.getByLabel('I have stored it').check()
    await visit.button('Done').click()
    assert.deepEqual(asked, ['first'])
    await visit.button('Change customer').click()
    await visit.text('No keys yet')
    await visit.assertForgotten('kr_live_')
    assert.deepEqual(asked, ['first', 'second'])
    await visit.leave()
  })
}

const pageWithAttributes = `
  import { createElement } from 'react'
  import { createRoot } from 'react-dom/client'
  import { KeyrailKeys } from '../../src/react.ts'
  createRoot(document.getElementById('app')).render(createElement(KeyrailKeys, {
    id: 'keys',
    className: 'wide',
    style: { maxWidth: 400, '--keyrail-radius': '3px' },
    'data-section': 'keys',
    'aria-label': 'Keys of Globex',
    onClick: () => { globalThis.clicked = true },
    onError: () => {},
    baseUrl: ${JSON.stringify(stage.url)},
    getToken: () => getToken('first'),
  }))`

for (const [version, alias] of Object.entries(reacts))
  test(`React ${version} gives the element its id, class, style, data, label and clicks`, async () => {
    const vendor = await stage.makeVendor()
    const visit = await stage.visit({
      body,
      files: { 'app.js': await bundlePage(pageWithAttributes, alias) },
      widget: '',
      script: `await import('./app.js')`,
      token: () => tokenOf(stage, vendor),
    })
    await visit.text('No keys yet')
    const found = await visit.page.evaluate(`(element => ({
      names: element.getAttributeNames().toSorted(),
      className: element.className,
      width: element.getBoundingClientRect().width,
      radius: getComputedStyle(element.shadowRoot.querySelector('.primary')).borderTopLeftRadius,
    }))(document.getElementById('keys'))`)
    assert.deepEqual(found, {
      names: ['aria-label', 'class', 'data-section', 'id', 'style'],
      className: 'wide',
      width: 400,
      radius: '3px',
    })
    await visit.page.getByRole('heading', { name: 'API keys' }).click()
    assert.equal(await visit.page.evaluate('clicked'), true)
    await visit.leave()
  })

const vuePage = `
  import { createApp, h, ref } from 'vue'
  import '../../src/index.ts'
  const status = ref('')
  createApp({
    render: () => h('div', [
      h('p', status.value),
      h('keyrail-keys', {
        baseUrl: ${JSON.stringify(stage.url)},
        getToken: () => getToken('inline'),
        density: 'compact',
        onKeyrailCreated: event => { status.value = 'Created ' + event.detail.name },
      }),
    ]),
  }).mount('#app')`

const sveltePage = `
  import { mount } from 'svelte'
  import Page from './Page.svelte'
  mount(Page, { target: document.getElementById('app') })`

const svelteFile = `<script>
  import '../../src/index.ts'
  let status = $state('')
</script>
<p>{status}</p>
<keyrail-keys
  baseUrl=${JSON.stringify(stage.url)}
  getToken={() => getToken('inline')}
  density={status === '' ? 'comfortable' : 'compact'}
  onkeyrail-created={event => { status = 'Created ' + event.detail.name }}
></keyrail-keys>`

test('React hears of failures before the page is painted', async () => {
  const vendor = await stage.makeVendor()
  const visit = await stage.visit({
    body,
    files: { 'app.js': await bundlePage(misconfiguredPage) },
    widget: '',
    script: `await import('./app.js')`,
    token: () => tokenOf(stage, vendor),
    mayFail: /baseUrl must be/,
  })
  await visit.text('The service is not available now')
  assert.deepEqual(await visit.page.evaluate('codes'), ['misconfigured'])
  await visit.leave()
})

for (const [framework, text, files] of [
  ['Vue', vuePage, {}],
  ['Svelte', sveltePage, { 'Page.svelte': svelteFile }],
] as const)
  test(`${framework} sets properties and hears events, without a wrapper`, async () => {
    const vendor = await stage.makeVendor()
    const visit = await stage.visit({
      body,
      files: { 'app.js': await bundlePage(text, {}, files) },
      widget: '',
      script: `await import('./app.js')`,
      token: () => tokenOf(stage, vendor),
    })
    await visit.button('Create key').click()
    await visit.page.getByLabel('Name').fill(`From ${framework}`)
    await visit.page.getByRole('dialog').getByRole('button', { name: 'Create key' }).click()
    await visit.text(`Created From ${framework}`)
    assert.equal(await visit.page.locator('[part=root]').getAttribute('data-density'), 'compact')
    await visit.leave()
  })

test('in a template of Vue, the property and the event are written as README says', async () => {
  const readme = readFileSync(join(import.meta.dirname, '..', 'README.md'), 'utf8')
  const [, property, event] = /Vue and Svelte .+? with `(\S+)` and `(\S+)`/s.exec(readme) ?? []
  const isCustomElement = (tag: string) => tag === 'keyrail-keys'
  const template = `<p>{{ status }}</p><keyrail-keys base-url="${stage.url}" ${property}="ask" ${event}="onCreated"></keyrail-keys>`
  const { descriptor } = parse(
    `<script setup>
    import { ref } from 'vue'
    import '../../src/index.ts'
    const status = ref('')
    const ask = () => getToken('vue')
    const onCreated = event => { status.value = 'Created ' + event.detail.name }
    </script><template>${template}</template>`,
    { templateParseOptions: { isCustomElement } },
  )
  const { content } = compileScript(descriptor, {
    id: 'keys',
    inlineTemplate: true,
    templateOptions: { compilerOptions: { isCustomElement } },
  })
  const page = `
    import { createApp } from 'vue'
    import Keys from './keys.js'
    createApp(Keys).mount('#app')`
  const vendor = await stage.makeVendor()
  const visit = await stage.visit({
    body,
    files: { 'app.js': await bundlePage(page, {}, { 'keys.js': content }) },
    widget: '',
    script: `await import('./app.js')`,
    token: () => tokenOf(stage, vendor),
  })
  await visit.button('Create key').click()
  await visit.page.getByLabel('Name').fill('From a template')
  await visit.page.getByRole('dialog').getByRole('button', { name: 'Create key' }).click()
  await visit.text('Created From a template')
  await visit.leave()
})
