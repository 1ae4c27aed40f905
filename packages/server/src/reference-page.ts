import { hash } from 'node:crypto'
import Fastify from 'fastify'
import { pageHeaders, type StaticFile } from './platform/http/serve-static.ts'

/** The page at `/docs/`, and the only script that it loads. */
export interface ReferencePage {
  readonly page: StaticFile
  readonly script: StaticFile
}

/**
 * The page loads nothing from another host: the service serves its script, and its Content-Security-Policy forbids anything
 * else. It is built for the first visitor, by a temporary app: the library takes a third of the start time of the service,
 * and a restart should not wait for it.
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
      // Features beyond a reference: an assistant, a server for assistants, editing, sharing, hosting.
      agent: { disabled: true },
      mcp: { disabled: true },
      showDeveloperTools: 'never',
    },
  })
  const read = async (url: string): Promise<StaticFile> => {
    const { statusCode, headers, rawPayload } = await app.inject({ url })
    if (statusCode !== 200) throw new Error(`the library returned ${statusCode} for ${url}`)
    const type = String(headers['content-type'])
    const html = type.startsWith('text/html') ? rawPayload.toString() : ''
    return { type, body: rawPayload, headers: headersOf(html) }
  }
  const [page, script] = await Promise.all([read('/docs/'), read('/docs/js/scalar.js')])
  await app.close()
  return { page, script }
}

/** Allows resources of this host only, and only the page's own inline scripts, by their SHA-256. */
const headersOf = (html: string) =>
  pageHeaders({
    'script-src': `'self'${inlineScripts(html)}`,
    'style-src': "'self' 'unsafe-inline'",
    'img-src': "'self' data: blob:",
    'font-src': "'self' data:",
    'connect-src': "'self'",
  })

const inlineScripts = (html: string) =>
  [...html.matchAll(/<script(?![^>]*\ssrc=)[^>]*>([\s\S]*?)<\/script>/g)]
    .map(([, script = '']) => ` 'sha256-${hash('sha256', script, 'base64')}'`)
    .join('')
