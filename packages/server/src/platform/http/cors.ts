import type { IncomingMessage } from 'node:http'
import type { FastifyInstance } from 'fastify'
import { headerValues } from './headers.ts'

/** Scheme, host and port, as in an `Origin` header or a registered origin. */
const shape = /^(https?):\/\/([A-Za-z0-9.-]{1,253})(?::([0-9]{1,5}))?$/
const lengthMax = 255
const defaultPorts: Record<string, number> = { http: 80, https: 443 }

/**
 * Normalises an origin for comparison: lower case, without the default port. Null if invalid; the header `null`
 * is invalid too.
 */
export function readOrigin(text: string): string | null {
  if (text.length > lengthMax) return null
  const [, scheme = '', host = '', port] = shape.exec(text.toLowerCase()) ?? []
  if (scheme === '') return null
  const isDefault = port === undefined || Number(port) === defaultPorts[scheme]
  return `${scheme}://${host}${isDefault ? '' : `:${Number(port)}`}`
}

/** The source of a request, as its browser reports it. */
export interface CallerOrigin {
  /** Whether a browser sends the request: other clients have no origin. */
  readonly isBrowser: boolean
  /** The page's origin; null if it cannot be determined, which is never allowed. */
  readonly origin: string | null
  /** The `Origin` header as sent, for a response that the page may read. */
  readonly header: string | null
}

/**
 * Browsers send `Origin` with cross-origin requests and with every unsafe method. Without it, `Sec-Fetch-Site`
 * shows a page of this same origin, and that the client is a browser: Node's fetch sends other headers of that
 * family.
 */
export function callerOriginOf(request: IncomingMessage, ownOrigin: string | null): CallerOrigin {
  const [header, ...more] = headerValues(request, 'origin')
  const sites = headerValues(request, 'sec-fetch-site')
  if (header !== undefined) {
    const origin = more.length === 0 ? readOrigin(header) : null
    return { isBrowser: true, origin, header }
  }
  const isOwn = sites.length === 1 && sites[0] === 'same-origin'
  return { isBrowser: sites.length > 0, origin: isOwn ? ownOrigin : null, header: null }
}

/** Sent with every response of a route that pages of other origins call. */
export const everyAnswer = { vary: 'Origin', 'cache-control': 'no-store' }

/** How long a browser may keep the answer to a preflight: the same for every workspace. No browser keeps an answer for longer. */
export const preflightMaxAgeS = 7_200

/**
 * Lets the page read the response, with the headers that it may need: the page's clock may be wrong, so it learns from `date`
 * how long a token lives. The browser's own credentials are never allowed.
 */
export const letRead = (origin: string) => ({
  'access-control-allow-origin': origin,
  'access-control-expose-headers': 'date, etag, x-request-id, retry-after',
})

/**
 * Only the token says which page may call, and a preflight does not carry it. So every origin that could be registered passes
 * the preflight, and the request itself is checked.
 */
export function answerPreflights(app: FastifyInstance, paths: readonly string[]): void {
  for (const path of new Set(paths)) {
    app.options(path, async (request, reply) => {
      const [origin = '', ...more] = headerValues(request.raw, 'origin')
      reply.header('vary', 'Origin, Access-Control-Request-Method, Access-Control-Request-Headers')
      if (more.length === 0 && readOrigin(origin) !== null) {
        reply.headers({
          'access-control-allow-origin': origin,
          'access-control-allow-methods': 'GET, POST, PATCH',
          'access-control-allow-headers': 'authorization, content-type, if-none-match, keyrail-workspace',
          'access-control-max-age': String(preflightMaxAgeS),
        })
      }
      return reply.code(204).send()
    })
  }
}
