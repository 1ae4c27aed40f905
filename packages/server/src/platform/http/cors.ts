import type { IncomingMessage } from 'node:http'
import type { FastifyInstance } from 'fastify'
import { headerValues } from './headers.ts'

/** Scheme, host and port, as an `Origin` header or a registered origin names them. */
const shape = /^(https?):\/\/([A-Za-z0-9.-]{1,253})(?::([0-9]{1,5}))?$/
const lengthMax = 255
const defaultPorts: Record<string, number> = { http: 80, https: 443 }

/** The form in which origins are compared: lower case, without the default port. Null for what is none, as `null` is. */
export function readOrigin(text: string): string | null {
  if (text.length > lengthMax) return null
  const [, scheme = '', host = '', port] = shape.exec(text.toLowerCase()) ?? []
  if (scheme === '') return null
  const isDefault = port === undefined || Number(port) === defaultPorts[scheme]
  return `${scheme}://${host}${isDefault ? '' : `:${Number(port)}`}`
}

/** Where a request comes from, as its browser says. */
export interface CallerOrigin {
  /** Whether a browser sends it: nothing else has an origin. */
  readonly isBrowser: boolean
  /** Of the page; null where it cannot be told, which is never allowed. */
  readonly origin: string | null
  /** The `Origin` header as it was sent, for an answer that lets the page read it. */
  readonly header: string | null
}

/**
 * Browsers send `Origin` with what crosses origins, and with every unsafe method. Without it `Sec-Fetch-Site` tells a
 * page of this very origin, and that there is a browser at all: Node's own fetch sends other headers of that family.
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

/** On every answer of a route that pages of other origins call. */
export const everyAnswer = { vary: 'Origin', 'cache-control': 'no-store' }

/** Lets the page read the answer, with the two headers that it may need. Credentials of the browser are never asked for. */
export const letRead = (origin: string) => ({
  'access-control-allow-origin': origin,
  'access-control-expose-headers': 'x-request-id, retry-after',
})

/**
 * Whose page may call is known only with the token, which a preflight does not carry: so it is told to every origin
 * that could be registered, and decided when the request itself comes.
 */
export function answerPreflights(app: FastifyInstance, paths: readonly string[]): void {
  for (const path of new Set(paths)) {
    app.options(path, async (request, reply) => {
      const [origin = '', ...more] = headerValues(request.raw, 'origin')
      reply.header('vary', 'Origin, Access-Control-Request-Method, Access-Control-Request-Headers')
      if (more.length === 0 && readOrigin(origin) !== null) {
        reply.headers({
          'access-control-allow-origin': origin,
          'access-control-allow-methods': 'GET, POST',
          'access-control-allow-headers': 'authorization, content-type',
          'access-control-max-age': '600',
        })
      }
      return reply.code(204).send()
    })
  }
}
