import type { IncomingMessage } from 'node:http'
import { refuseUnknown } from '../http/connection-options.ts'
import { httpProblem, misusedProblem } from '../http/problem.ts'
import { KeyrailError } from '../runtime/errors.ts'
import { type OfWhole, partOf } from '../runtime/part-of.ts'
import type { Embed, EmbedTokenRequest } from './client.ts'

/** Who asks for a token: a customer of yours, by your own session. */
export interface EmbedCustomer {
  /** Your own id of the customer. */
  externalId: string
  /** The name of the tenant, if Keyrail creates it. Its first 200 characters count. */
  name?: string | null | undefined
  scopes?: EmbedTokenRequest['scopes']
}

/** Your session check. Null: the request gets 401. */
export type FindCustomer<R> = (
  request: R,
) => EmbedCustomer | null | undefined | Promise<EmbedCustomer | null | undefined>

/**
 * Makes the `POST` endpoint at which your pages ask for embed tokens. Answers `{ token, expires_at }`, and creates the tenant of an
 * unknown customer. Pages of other origins than `origins` and its own may not ask. A function makes `embed` with the first request.
 *
 * @throws TypeError if an argument is missing or wrong
 */
export type MakeEmbedHandler<R, Handler> = (
  embed: OfWhole<'embed', Embed> | (() => OfWhole<'embed', Embed>),
  findCustomer: FindCustomer<R>,
  options?: { origins?: readonly string[] | undefined },
) => Handler

/** An answer for any framework. */
export interface TokenAnswer {
  status: number
  headers: Record<string, string>
  body: object
}

type Read = (header: string) => string | null | undefined

/** @param host where the request was sent, if not in the header `host` */
type AnswerTokens<R> = (request: R, method: string, read: Read, host?: string | null) => Promise<TokenAnswer>

/**
 * What all handlers do. What the session check throws is left to the framework. An error of the service becomes 429, 503 or
 * 500 without its details, which go to `onError`.
 */
export function answerTokens<R>(
  ...[given, findCustomer, options = {}]: Parameters<MakeEmbedHandler<R, void>>
): AnswerTokens<R> {
  const source = typeof given === 'function' ? given : partOf(given, 'embed')
  if (typeof source !== 'function' && typeof source?.createToken !== 'function')
    throw new TypeError('embedHandler takes a part made by createEmbed')
  if (typeof findCustomer !== 'function') throw new TypeError('embedHandler takes a session check')
  refuseUnknown('embedHandler', options, { origins: true })
  // A string has `includes` too, which would take a part of an origin.
  if (!Array.isArray(options.origins ?? [])) throw new TypeError('origins must be an array of origins')
  let embed = typeof source === 'function' ? undefined : source
  return async (request, method, read, host = read('host')) => {
    if (method !== 'POST')
      return refuse(405, 'method_not_allowed', 'Ask for an embed token with POST', { allow: 'POST' })
    if (!isOwnPage(read('origin'), read('sec-fetch-site'), host, options.origins))
      return refuse(403, 'origin_not_allowed', 'Pages of this origin may not ask')
    const customer = await findCustomer(request)
    if (!customer) return refuse(401, 'not_signed_in', 'Sign in first')
    const { externalId, name, scopes } = customer
    try {
      embed ??= partOf((source as Extract<typeof source, () => unknown>)(), 'embed')
      const { token, expiresAt } = await embed.createToken({ externalId, scopes, createTenant: named(name) })
      const headers = { 'content-type': 'application/json', 'cache-control': 'no-store' }
      return { status: 200, headers, body: { token, expires_at: expiresAt } }
    } catch (error) {
      if (!(error instanceof KeyrailError)) throw error
      const { status, retryable, retryAfterMs = 5_000 } = error
      if (!retryable) return misusedProblem()
      const headers = { 'retry-after': `${Math.ceil(retryAfterMs / 1_000)}` }
      const detail = 'No embed token can be made at the moment'
      return status === 429
        ? refuse(429, 'too_many_requests', detail, headers)
        : refuse(503, 'unavailable', detail, headers)
    }
  }
}

/** A customer may have no name, or a longer one than a tenant: both get their token. */
const named = (name: string | null | undefined) => (name ? { name: [...name].slice(0, 200).join('') } : {})

const refuse = (
  status: 401 | 403 | 405 | 429 | 503,
  code: string,
  detail: string,
  headers?: Record<string, string>,
): TokenAnswer => httpProblem(status, code, detail, headers && { headers })

/** A browser names the page, by `Sec-Fetch-Site` or by `Origin`. A server asks without both, and has no session of a browser. */
function isOwnPage(
  origin: ReturnType<Read>,
  site: ReturnType<Read>,
  host: ReturnType<Read>,
  origins: readonly string[] = [],
): boolean {
  if (origin && origins.includes(origin)) return true
  if (site) return site === 'same-origin'
  return !origin || (URL.canParse(origin) && new URL(origin).host === host)
}

/** Answers as a `Response` of the Fetch API. */
export async function respond<R>(
  answer: AnswerTokens<R>,
  request: R,
  { method, headers, url }: Pick<Request, 'method' | 'headers' | 'url'>,
): Promise<Response> {
  const host = headers.get('host') ?? new URL(url).host
  const token = await answer(request, method, name => headers.get(name), host)
  return new Response(JSON.stringify(token.body), token)
}

/** Reads a header of Node's request. */
export const headerOf =
  ({ headers }: Pick<IncomingMessage, 'headers'>): Read =>
  name =>
    headers[name]?.toString()
