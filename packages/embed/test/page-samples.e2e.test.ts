import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { compileScript, parse } from 'vue/compiler-sfc'
import { pageSamples, type WidgetVersion } from '../../dashboard/src/screens/embed/page-samples.ts'
import { bundlePage } from './bundle-page.ts'
import { openStage, tokenOf } from './stage.ts'

/** The code that the Embed screen shows for a page, unchanged but for the address of the token, in a browser. */

const stage = await openStage()
const { url } = stage
const version = (await (await fetch(`${url}/embed/v1/keyrail-keys.json`)).json()) as WidgetVersion
const samples = pageSamples({ url }, version)
const sources = join(import.meta.dirname, '..', 'src')
const packages = {
  '@keyrail/embed/react': join(sources, 'react.ts'),
  '@keyrail/embed': join(sources, 'index.ts'),
}

/** The site of the tests answers there. */
const codeOf = (name: string) => {
  const { code } = samples.find(one => one.name === name) ?? assert.fail(`there is no code for ${name}`)
  assert.ok(code.includes("'/keyrail-token'"), name)
  return code.replace('/keyrail-token', 'token/sample')
}

async function openVendor() {
  const vendor = await stage.makeVendor()
  return { vendor, token: () => tokenOf(stage, vendor, { scopes: ['keys:read', 'keys:write'] }) }
}

/** @param files what the page imports, by name */
async function visitBundled(text: string, files: Record<string, string>) {
  return stage.visit({
    ...(await openVendor()),
    body: '<div id="app"></div>',
    files: { 'app.js': await bundlePage(text, packages, files) },
    widget: '',
    script: `await import('./app.js')`,
  })
}

for (const name of ['HTML', 'HTML, always newest']) {
  test(`${name}: pasted into a page, it shows the keys of the customer`, async () => {
    const visit = await stage.visit({
      ...(await openVendor()),
      body: codeOf(name),
      widget: '',
      script: '',
      csp: `default-src 'none'; script-src 'self' 'unsafe-inline' ${url}; style-src 'self'; img-src 'self'; connect-src 'self' ${url}`,
    })
    await visit.text('No keys yet')
    await visit.button('Create key').waitFor()
    await visit.leave()
  })
}

test('React: the component shows the keys of the customer', async () => {
  const page = `
    import { createElement } from 'react'
    import { createRoot } from 'react-dom/client'
    import { ApiKeys } from './keys.tsx'
    createRoot(document.getElementById('app')).render(createElement(ApiKeys))`
  const visit = await visitBundled(page, {
    'keys.tsx': `/** @jsxImportSource react */\n${codeOf('React')}`,
  })
  await visit.text('No keys yet')
  await visit.leave()
})

test('Vue: the component shows the keys of the customer', async () => {
  const isCustomElement = (tag: string) => tag === 'keyrail-keys'
  const { descriptor, errors } = parse(codeOf('Vue'), { templateParseOptions: { isCustomElement } })
  assert.deepEqual(errors, [])
  const { content } = compileScript(descriptor, {
    id: 'keys',
    inlineTemplate: true,
    templateOptions: { compilerOptions: { isCustomElement } },
  })
  const page = `
    import { createApp } from 'vue'
    import Keys from './keys.js'
    createApp(Keys).mount('#app')`
  const visit = await visitBundled(page, { 'keys.js': content })
  await visit.text('No keys yet')
  await visit.leave()
})

test('Svelte: the component shows the keys of the customer', async () => {
  const page = `
    import { mount } from 'svelte'
    import Keys from './Keys.svelte'
    mount(Keys, { target: document.getElementById('app') })`
  const visit = await visitBundled(page, { 'Keys.svelte': codeOf('Svelte') })
  await visit.text('No keys yet')
  await visit.leave()
})

test('Your own: the calls create, rename, rotate and revoke a key', async () => {
  const { vendor, token } = await openVendor()
  const page = `${codeOf('Your own')}
      document.getElementById('app').textContent = JSON.stringify({ can, listed: keys.length, key: created.key })`
  const visit = await stage.visit({
    token,
    body: '<div id="app"></div>',
    files: { 'app.js': await bundlePage(page, packages) },
    widget: '',
    script: `await import('./app.js')`,
  })
  await visit.text('"can"')
  const shown = JSON.parse(String(await visit.page.locator('#app').textContent()))
  const { network, tenant_network, ...can } = shown.can
  assert.deepEqual(can, { read: true, write: true, update: true, pause: true, key_scopes: [] })
  assert.deepEqual([network, tenant_network], [false, false])
  assert.equal(shown.listed, 0)
  assert.match(shown.key, /^\w+_live_\w+$/)
  const { body } = await stage.harness.ask('GET', '/v1/keys?include_revoked=true', { token: vendor.live })
  const made = body.data.filter((one: { name: string }) => one.name === 'Build server in Oslo')
  assert.equal(made.length, 2)
  await visit.leave()
})
