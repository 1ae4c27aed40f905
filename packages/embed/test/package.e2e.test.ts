import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { after, test } from 'node:test'
import { installRuntimes, runtimesFolder } from '../../sdk/test/runtimes.ts'
import { writePackage } from '../write-package.ts'

const folder = join(import.meta.dirname, '..')
// Below this folder, so that it finds Preact and React.
const work = mkdtempSync(join(import.meta.dirname, '.work-'))
after(() => rmSync(work, { recursive: true, force: true }))
const own = join(work, 'node_modules/@keyrail/embed')
mkdirSync(own, { recursive: true })
// Else the name would mean the sources around.
writeFileSync(join(work, 'package.json'), '{ "private": true }\n')
await writePackage(join(own, 'dist'))
writeFileSync(join(own, 'package.json'), readFileSync(join(folder, 'package.json')))

test('the package names no contract, and imports only Preact and React', () => {
  const files = readdirSync(join(own, 'dist'), { recursive: true, encoding: 'utf8' })
  const imported = new Set<string>()
  for (const file of files.filter(name => /\.(js|d\.ts)$/.test(name))) {
    const text = readFileSync(join(own, 'dist', file), 'utf8')
    assert.ok(!text.includes('@keyrail/contract'), file)
    for (const [, from = ''] of text.matchAll(/(?:from|import)\s*["'`]([a-z@][^"'`]*)["'`]/g))
      imported.add(from)
  }
  assert.deepEqual([...imported].toSorted(), ['preact', 'preact/hooks', 'react'])
})

test('the component of React is one of the client, also for a page that a server renders', () => {
  const firstLineOf = (file: string) => readFileSync(join(own, 'dist', file), 'utf8').split('\n')[0]
  assert.equal(firstLineOf('react.js'), `'use client'`)
  // The client of those who draw their own works on a server, too.
  assert.notEqual(firstLineOf('index.js'), `'use client'`)
})

/** Compiles pages as their author does, in strict mode. */
function compile(
  pages: Readonly<Record<string, string>>,
  more: Readonly<Record<string, unknown>> = {},
  typescript = createRequire(import.meta.url).resolve('typescript/package.json'),
): void {
  for (const [name, text] of Object.entries(pages)) writeFileSync(join(work, name), text)
  const compilerOptions = {
    strict: true,
    target: 'es2023',
    lib: ['es2023', 'dom', 'dom.iterable'],
    module: 'esnext',
    moduleResolution: 'bundler',
    noEmit: true,
    types: [],
    ...more,
  }
  writeFileSync(join(work, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: Object.keys(pages) }))
  const compiler = join(dirname(typescript), 'bin/tsc')
  const { status, stdout } = spawnSync(process.execPath, [compiler, '-p', work], { encoding: 'utf8' })
  assert.equal(status, 0, stdout)
}

test('a page with the client, the element or the React component of the package compiles', () =>
  compile({
    'page.ts': `
      import { createEmbedClient, EmbedError, type EmbedKey } from '@keyrail/embed'
      import { KeyrailKeys } from '@keyrail/embed/react'
      import { createElement, createRef } from 'react'
      const client = createEmbedClient({ baseUrl: 'https://a.example', getToken: async () => 'token' })
      const { data } = await client.list({ limit: 100 })
      const names: (string | null)[] = data.map((key: EmbedKey) => key.name)
      // @ts-expect-error a key in a list has no secret
      data[0]?.key
      const element = document.querySelector('keyrail-keys')
      if (element !== null) element.getToken = async () => names.join()
      // @ts-expect-error
      if (element !== null) element.density = 'tiny'
      createElement(KeyrailKeys, { getToken: async () => 'token', onCreated: ({ id }) => id.trim() })
      const ref = createRef<HTMLElementTagNameMap['keyrail-keys']>()
      createElement(KeyrailKeys, { ref, getToken: async () => 'token' })
      await ref.current?.refresh()
      createElement('keyrail-keys', { baseUrl: 'https://a.example' })
      export const isOver = (error: unknown) => error instanceof EmbedError && error.code === 'session_ended'`,
  }))

test('properties and events in the templates of Vue and Svelte have types', () =>
  compile({
    'vue.ts': `
      import '@keyrail/embed/vue'
      import { type GlobalComponents, h } from 'vue'
      type Props = InstanceType<GlobalComponents['keyrail-keys']>['$props']
      const props: Props = {
        baseUrl: 'https://a.example',
        getToken: async () => 'token',
        density: 'compact',
        messages: { heading: 'Keys' },
        onKeyrailCreated: event => event.detail.id.trim(),
        onKeyrailSessionEnded: event => event.preventDefault(),
      }
      // @ts-expect-error
      export const wrong: Props = { density: 'tiny' }
      // @ts-expect-error no event has a key
      export const leak: Props = { onKeyrailRotated: event => event.detail.key }
      // @ts-expect-error
      export const misspelt: Props = { onKeyrailMade: () => {} }
      export const page = () => h('div', [h('keyrail-keys', props)])`,
    'svelte.ts': `
      import '@keyrail/embed/svelte'
      import type { SvelteHTMLElements } from 'svelte/elements'
      type Props = SvelteHTMLElements['keyrail-keys']
      export const props: Props = {
        baseUrl: 'https://a.example',
        getToken: async () => 'token',
        class: 'wide',
        'onkeyrail-created': event => event.detail.id.trim(),
        'onkeyrail-session-ended': event => event.preventDefault(),
      }
      export const asAttribute: Props = { 'base-url': 'https://a.example' }
      // @ts-expect-error
      export const wrong: Props = { density: 'tiny' }
      // @ts-expect-error no event has a key
      export const leak: Props = { 'onkeyrail-rotated': event => event.detail.key }
      // @ts-expect-error
      export const misspelt: Props = { 'onkeyrail-made': () => {} }`,
  }))

test('a server that renders a page can import the package', async () => {
  const { createEmbedClient, KeyrailKeys } = await import(join(own, 'dist/index.js'))
  assert.equal(typeof createEmbedClient, 'function')
  assert.equal(typeof KeyrailKeys, 'function')
})

/** Compilers and Jest are beside the runtimes of the SDK. */
await installRuntimes()
const ofRuntimes = createRequire(join(runtimesFolder, 'package.json'))

const anyPage = `
  import { createEmbedClient, type EmbedKey } from '@keyrail/embed'
  import { KeyrailKeys } from '@keyrail/embed/react'
  export const client = createEmbedClient({ baseUrl: 'https://a.example', getToken: async () => 'token' })
  export const nameOf = (key: EmbedKey): string | null => key.name
  export const component: typeof KeyrailKeys.displayName = KeyrailKeys.displayName
  // @ts-expect-error a key has no such member
  export const wrong = (key: EmbedKey) => key.meta`

for (const [name, options] of Object.entries({
  'resolved as by Node 10': { module: 'commonjs', moduleResolution: 'node10' },
  'of a module and of CommonJS, as by Node': { module: 'node16', moduleResolution: 'node16' },
}))
  test(`the types, ${name}, are those of the package`, () =>
    compile(
      { 'any.mts': anyPage, 'any.cts': anyPage },
      { ...options, skipLibCheck: true },
      ofRuntimes.resolve('typescript/package.json'),
    ))

test('CommonJS can require the package, and has one EmbedError with its element', () => {
  const { EmbedError, KeyrailKeys } = createRequire(join(work, 'any.cjs'))('@keyrail/embed')
  assert.equal(typeof KeyrailKeys, 'function')
  assert.equal(new EmbedError('closed', 'Closed.').code, 'closed')
})

test('under Jest with a DOM, a page that imports the element is tested', () => {
  const home = join(work, 'jest')
  mkdirSync(home)
  const testEnvironment = ofRuntimes.resolve('jest-environment-jsdom')
  writeFileSync(join(home, 'package.json'), JSON.stringify({ private: true, jest: { testEnvironment } }))
  writeFileSync(
    join(home, 'page.test.js'),
    `test('imports', async () => {
      const { createEmbedClient } = require('@keyrail/embed')
      expect(typeof createEmbedClient).toBe('function')
      expect(typeof require('@keyrail/embed/react').KeyrailKeys).toBe('object')
      document.body.innerHTML = '<keyrail-keys></keyrail-keys>'
      const element = document.querySelector('keyrail-keys')
      expect(element.shadowRoot).not.toBe(null)
      element.client = { session: async () => { throw Object.assign(new Error('Ended.'), { name: 'EmbedError', code: 'session_ended' }) } }
      await new Promise(resolve => setTimeout(resolve, 50))
      expect(element.shadowRoot.textContent).toContain('Your session has ended')
    })`,
  )
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [ofRuntimes.resolve('jest/bin/jest'), '--ci', '--rootDir', home],
    { cwd: home, encoding: 'utf8' },
  )
  assert.equal(status, 0, stdout + stderr)
})
