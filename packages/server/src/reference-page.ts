import { hash } from 'node:crypto'
import Fastify from 'fastify'
import type { StaticFile } from './platform/http/serve-static.ts'

/** The page at `/docs/`, and the one script that it loads. */
export interface ReferencePage {
  readonly page: StaticFile
  readonly script: StaticFile
}

/**
 * It loads nothing from another host: its script is served from here, and its Content-Security-Policy holds it to that.
 * Made for its first visitor, by an app of its own that is gone afterwards: the library takes a third of the time in
 * which the service starts, and a restart has no reason to wait for it.
 */
export async function openReferencePage(): Promise<ReferencePage> {
  const { default: scalar } = await import('@scalar/fastify-api-reference')
  const app = Fastify()
  await app.register(scalar, {
    routePrefix: '/docs',
    configuration: {
      url: '/v1/openapi.json',
      withDefaultFonts: false,
      telemetry: false,
      hideClientButton: true,
    },
  })
  const read = async (url: string): Promise<StaticFile> => {
    const { statusCode, headers, rawPayload } = await app.inject({ url })
    if (statusCode !== 200) throw new Error(`the library answers ${statusCode} to ${url}`)
    const type = String(headers['content-type'])
    const html = type.startsWith('text/html') ? rawPayload.toString() : ''
    return {
      type,
      body: rawPayload,
      headers: { 'content-security-policy': pagePolicy(html), 'referrer-policy': 'no-referrer' },
    }
  }
  const [page, script] = await Promise.all([read('/docs/'), read('/docs/js/scalar.js')])
  await app.close()
  return { page, script }
}

/** Only what this host serves, and of inline scripts only the page's own, by their SHA-256. */
const pagePolicy = (html: string) =>
  [
    "default-src 'none'",
    `script-src 'self'${inlineScripts(html)}`,
    "style-src 'self' 'unsafe-inline'",
    "img-src 'self' data: blob:",
    "font-src 'self' data:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ')

const inlineScripts = (html: string) =>
  [...html.matchAll(/<script(?![^>]*\ssrc=)[^>]*>([\s\S]*?)<\/script>/g)]
    .map(([, script = '']) => ` 'sha256-${hash('sha256', script, 'base64')}'`)
    .join('')
