import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { after, test } from 'node:test'
import { writePackage } from '../write-package.ts'

const folder = join(import.meta.dirname, '..')
// Below this folder, so that it finds Preact and React.
const work = mkdtempSync(join(import.meta.dirname, '.work-'))
after(() => rmSync(work, { recursive: true, force: true }))
const own = join(work, 'node_modules/@keyrail/embed')
mkdirSync(own, { recursive: true })
await writePackage(join(own, 'dist'))
writeFileSync(join(own, 'package.json'), readFileSync(join(folder, 'package.json')))

test('the package names no contract, and imports only Preact and React', () => {
  const files = readdirSync(join(own, 'dist'), { recursive: true, encoding: 'utf8' })
  const imported = new Set<string>()
  for (const file of files.filter(name => /\.(js|d\.ts)$/.test(name))) {
    const text = readFileSync(join(own, 'dist', file), 'utf8')
    assert.ok(!text.includes('@keyrail/contract'), file)
    for (const [, from = ''] of text.matchAll(/(?:from|import)\s*["'`]([^."'`][^"'`]*)["'`]/g))
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
function compile(pages: Readonly<Record<string, string>>): void {
  for (const [name, text] of Object.entries(pages)) writeFileSync(join(work, name), text)
  const compilerOptions = {
    strict: true,
    target: 'es2023',
    lib: ['es2023', 'dom', 'dom.iterable'],
    module: 'esnext',
    moduleResolution: 'bundler',
    noEmit: true,
    types: [],
  }
  writeFileSync(join(work, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: Object.keys(pages) }))
  const compiler = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin/tsc')
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
