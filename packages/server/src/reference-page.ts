import { hash } from 'node:crypto'
import Fastify from 'fastify'

/**
 * The page at `/docs`. It loads nothing from another host: its script is served from here, and its
 * Content-Security-Policy holds it to that.
 */
export interface PageAnswer {
  status: number
  headers: Record<string, string>
  body: Buffer
}

/**
 * Opened by its first visitor, as an app of its own behind ours: the library takes a third of the time in which the
 * service starts, and a restart has no reason to wait for it.
 */
export async function openReferencePage(): Promise<(url: string) => Promise<PageAnswer>> {
  const { default: scalar } = await import('@scalar/fastify-api-reference')
  const page = Fastify()
  page.addHook('onSend', async (_request, reply, payload) => {
    const isPage = String(reply.getHeader('content-type')).startsWith('text/html')
    reply.header('content-security-policy', pagePolicy(isPage ? String(payload) : ''))
    reply.header('x-content-type-options', 'nosniff')
    reply.header('referrer-policy', 'no-referrer')
  })
  await page.register(scalar, {
    routePrefix: '/docs',
    configuration: {
      url: '/v1/openapi.json',
      withDefaultFonts: false,
      telemetry: false,
      hideClientButton: true,
    },
  })
  return async url => {
    const { statusCode, headers, rawPayload } = await page.inject({ url })
    const { connection: _connection, date: _date, 'content-length': _length, ...kept } = headers
    return { status: statusCode, headers: kept as Record<string, string>, body: rawPayload }
  }
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
