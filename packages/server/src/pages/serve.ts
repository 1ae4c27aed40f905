import { readFile } from 'node:fs/promises'
import { extname } from 'node:path'
import type { FastifyInstance } from 'fastify'
import type { Deps } from '../deps.ts'
import { type StaticFile, serveStatic } from '../platform/http/serve-static.ts'

/**
 * The pages that mailed links lead to, until a dashboard takes their place. They are files: the token stands behind
 * the `#` of the link, so that no request for a page carries it, and the page's script calls the API like any client.
 */
const pages = ['verify-email', 'reset-password', 'accept-invite']

/** What the pages are made of. A name that is not listed here is not served. */
const parts = [
  'style.css',
  'icon.svg',
  'api.js',
  'fields.js',
  'link.js',
  'session.js',
  'view.js',
  ...pages.map(name => `${name}.js`),
]

const types: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
}

/** Nothing but what this host serves, no frame around it, and no form that a browser would send by itself. */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

const headers = {
  'content-security-policy': policy,
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
}

export function servePages(app: FastifyInstance, { config }: Pick<Deps, 'config'>): void {
  const values = { passwordMinLength: String(config.passwordMinLength) }
  // A page holds what people type: no cache keeps it, not even the browser's for the way back.
  for (const name of pages) serveStatic(app, `/${name}`, 'no-store', () => readPart(`${name}.html`, values))
  // A part is asked for anew whenever a page is: the next release may have another.
  for (const name of parts) serveStatic(app, `/pages/${name}`, 'no-cache', () => readPart(name, {}))
}

async function readPart(name: string, values: Readonly<Record<string, string>>): Promise<StaticFile> {
  const text = await readFile(new URL(`browser/${name}`, import.meta.url), 'utf8')
  const body = Object.entries(values).reduce(
    (filled, [key, value]) => filled.replaceAll(`{${key}}`, value),
    text,
  )
  return { type: types[extname(name)] ?? '', body, headers }
}
