import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { extname, join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { bundlePage, bundleWidget, servedName } from '../../packages/embed/bundle.ts'
import type { Resource } from '../harness/bench.ts'

/** Pages that show the same keys: with our widget, with that of a peer, and as plain rows; and the API that each asks. */
export interface WidgetPages extends Resource {
  readonly url: string
  /** What a browser loads for a page, in bytes after gzip. */
  bytesOf(page: WidgetPage): number
}

export type WidgetPage = 'ours' | 'peer' | 'plain'

/** As many as the peer shows on one page. */
const KEYS = 10
export const lastName = `Key ${KEYS}`

const peerFolder = join(import.meta.dirname, '..', 'peer-widget')

/** In each page, `draw()` loads the widget, and `root()` has the text in which the last key must be. */
const pages: Readonly<Record<WidgetPage, string>> = {
  ours: `
    window.draw = async () => {
      await import('/${servedName}')
      const keys = document.createElement('keyrail-keys')
      keys.getToken = async () => '${jwtOf({ exp: 4_102_444_800 })}'
      document.body.append(keys)
    }
    window.root = () => document.querySelector('keyrail-keys').shadowRoot`,
  peer: `
    window.draw = async () => {
      document.head.insertAdjacentHTML('beforeend', '<link rel="stylesheet" href="/peer.css">')
      const { draw } = await import('/peer.js')
      draw(document.body, '${jwtOf({ exp: 4_102_444_800, permissions: ['widgets:api-keys:manage'] })}')
    }
    window.root = () => document.body`,
  // What any page needs at least: the same two answers, and an element for each text.
  plain: `
    window.draw = async () => {
      const paths = ['session', 'keys']
      const [, { data }] = await Promise.all(paths.map(async path => (await fetch('/v1/embed/' + path)).json()))
      const row = key => '<div><h3>' + key.name + '</h3><code>' + key.display_prefix + '</code><p>' + key.created_at +
        '</p><button>Rotate</button><button>Revoke</button></div>'
      document.body.insertAdjacentHTML('beforeend', data.map(row).join(''))
    }
    window.root = () => document.body`,
}

export async function serveWidgetPages(): Promise<WidgetPages> {
  const folder = mkdtempSync(join(tmpdir(), 'keyrail-widgets-'))
  await installPeer()
  await bundleWidget(folder)
  await bundlePage(join(peerFolder, 'page.js'), folder, 'peer')
  const files = new Map(readdirSync(folder).map(name => [name, readFileSync(join(folder, name))]))
  rmSync(folder, { recursive: true })
  const server = createServer(({ url = '/' }, answer) => {
    const name = url.slice(1).split('?')[0] ?? ''
    const page = pages[name as WidgetPage]
    const file = files.get(name)
    const body = page === undefined ? (file ?? JSON.stringify(answerTo(name))) : htmlOf(page)
    answer.setHeader('content-type', page === undefined ? typeOf(name) : 'text/html')
    answer.end(body)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://localhost:${(server.address() as AddressInfo).port}`,
    bytesOf: page =>
      [...files]
        .filter(([name]) => name.startsWith(page === 'ours' ? servedName : `${page}.`))
        .reduce((sum, [, file]) => sum + gzipSync(file, { level: 9 }).length, 0),
    close() {
      server.closeAllConnections()
      server.close()
    },
  }
}

interface Installer {
  ensureInstalled(options: { root: string; dev?: boolean }): Promise<void>
}

async function installPeer(): Promise<void> {
  const installer: Installer = await import(new URL('../../bin/runtime.mjs', import.meta.url).href)
  await installer.ensureInstalled({ root: peerFolder, dev: true })
}

/** What a page leaves for idle time waits in `later`, so that no answer to the question for the time comes after it. */
const idle = 'window.later = []; window.requestIdleCallback = call => later.push(call);'

const htmlOf = (script: string) =>
  `<!doctype html><html lang="en"><title>Keys</title><link rel="icon" href="data:,"><body><script>${idle}${script}</script>`

const typeOf = (name: string) =>
  ({ '.js': 'text/javascript', '.css': 'text/css' })[extname(name)] ?? 'application/json'

const created_at = '2026-11-02T10:00:00.000Z'
const each = <T>(make: (name: string) => T): T[] =>
  Array.from({ length: KEYS }, (_, index) => make(`Key ${index + 1}`))

function answerTo(path: string): object {
  if (path === 'v1/embed/session')
    return {
      object: 'embed_session',
      project: { name: 'Payments' },
      env: 'live',
      can: { read: true, write: true, update: true, key_scopes: ['charges:read'] },
      theme: {},
    }
  if (path === 'v1/embed/keys')
    return {
      object: 'list',
      has_more: false,
      data: each(name => ({
        id: name,
        name,
        display_prefix: 'kr_live_AbCd',
        scopes: ['charges:read'],
        expires_at: null,
        rotated_to: null,
        last_used_at: null,
        created_at,
      })),
    }
  if (path.startsWith('v1/embed/keys/')) return { object: 'key_usage', data: [], total: 0, estimated: false }
  if (path.endsWith('/organization-api-keys'))
    return {
      data: each(name => ({
        id: name,
        name,
        obfuscatedValue: 'sk_live_…AbCd',
        createdAt: created_at,
        lastUsedAt: null,
        expiresAt: null,
        permissions: ['charges:read'],
      })),
      list_metadata: {},
    }
  return { data: [], list_metadata: {} }
}

/** A token that is never verified: the browser reads what the page may do. */
function jwtOf(claims: object): string {
  const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  return `${encode({ alg: 'none' })}.${encode(claims)}.x`
}
