import { type FieldFault, KeyrailError, lasting, passing } from '../runtime/errors.ts'
import type { Incoming } from '../runtime/transport.ts'
import { parseMembers } from './json.ts'
import { readRetryAfter } from './schedule.ts'

/** Turns every failure of an exchange into a KeyrailError. Foreign texts are cut, and never contain the secret key. */

const DETAIL_MAX = 300
const FAULTS_MAX = 50
/** `ECONNREFUSED`, `UND_ERR_SOCKET`. */
const systemCode = /^[A-Z][A-Z0-9_]{1,63}$/
const retryableStatuses = new Set([408, 425, 429])

/**
 * The error for an unexpected status, with the contents of its problem document (RFC 9457).
 *
 * @param what method and path of the request
 */
export function problemError(
  what: string,
  response: Pick<Incoming, 'status' | 'headers'>,
  text: string,
  { secretKey, origin }: { secretKey: string; origin: string },
): KeyrailError {
  const { status, headers } = response
  // Before cutting, which could leave half a secret.
  const clean = (text: string) => text.replaceAll(secretKey, '[secret key]')
  const problem = parseMembers(clean(text))
  return errorOf(what, problem, {
    status,
    requestId: clean(headers.get('x-request-id') ?? ''),
    by: ` by ${origin}, which is not a Keyrail error`,
    retryAfterMs: readRetryAfter(headers.get('retry-after'), Date.now()),
  })
}

/** The error for a problem document that is one value of an answer. */
export function problemWithin(what: string, problem: Readonly<Record<string, unknown>>): KeyrailError {
  const status = Number.isInteger(problem.status) ? (problem.status as number) : 500
  return errorOf(what, problem, { status, requestId: '', by: '', retryAfterMs: undefined })
}

/** @param beside what the answer says outside of its problem document */
function errorOf(
  what: string,
  problem: Readonly<Record<string, unknown>>,
  beside: { status: number; requestId: string; by: string; retryAfterMs: number | undefined },
): KeyrailError {
  const { status, requestId, by, retryAfterMs } = beside
  const given = matching(problem.code, /^[a-z][a-z0-9_]{0,63}$/)
  const code = given ?? `http_${status}`
  const detail = typeof problem.detail === 'string' ? `: ${problem.detail.slice(0, DETAIL_MAX)}` : ''
  const message = `${what} was answered ${status} ${code}${detail}${given === undefined ? by : ''}`
  return new KeyrailError(code, message, {
    status,
    requestId: matching(problem.request_id ?? requestId, /^[\w.:-]{1,128}$/),
    errors: readFaults(problem.errors),
    docUrl: matching(problem.type, /^https?:\/\/[\w.:[\]/-]{1,200}$/),
    // Without a code, something in front of the service refused, such as a proxy that cannot reach it.
    retryable: given === undefined || status >= 500 || retryableStatuses.has(status),
    retryAfterMs,
  })
}

/** An exchange that failed. */
interface Exchange {
  what: string
  origin: string
  timedOut: boolean
  aborted: boolean | undefined
  waitsForSecret: boolean
  /** Names a proxy that it should have used. */
  unusedProxy: () => string
}

/** No answer, unless it is an error of the service. Without the cause: what a custom `fetch` throws may contain the request, and so the secret key. */
export function transportError(
  error: unknown,
  { what, origin, timedOut, aborted, waitsForSecret, unusedProxy }: Exchange,
): KeyrailError {
  if (error instanceof KeyrailError) return error
  if (aborted) return abortedError(what)
  if (timedOut) {
    const late = waitsForSecret
      ? `${what} was not sent: the function secretKey did not return in time`
      : `${what} was not answered in time by ${origin}${unusedProxy()}`
    return passing('timeout', late)
  }
  const { cause, code, name } = (error ?? {}) as {
    cause?: { code?: unknown; message?: unknown }
    code?: unknown
    name?: unknown
  }
  // Some ports belong to other protocols, and no fetch sends anything there.
  if (cause?.message === 'bad port') {
    const refused = `${what} was not sent: fetch refuses the port of ${origin}, which is reserved. Choose another port`
    return lasting('network_error', refused)
  }
  const why =
    matching(cause?.code, systemCode) ?? matching(code, systemCode) ?? matching(name, /^[A-Za-z]{1,40}Error$/)
  const message = `${what} failed at ${origin}: ${why ?? 'no reason given'}${hintOf(why ?? '', origin)}${unusedProxy()}`
  return passing('network_error', message)
}

/** Explains a system or TLS error code to the author of `url`. */
function hintOf(why: string, origin: string): string {
  if (why === 'ECONNREFUSED') return ', nothing listens there'
  if (why === 'ENOTFOUND' || why === 'EAI_AGAIN') return ', the host name cannot be resolved'
  if (why === 'ERR_PROXY_TUNNEL') return ', the proxy of the environment opens no way to it'
  if (why === 'ERR_PROXY_INVALID_CONFIG') return ', the proxy of the environment is no http or https address'
  if (/CERT|SIGNATURE/.test(why)) return ', its certificate is not trusted or belongs to another host'
  if (/^ERR_SSL|^EPROTO/.test(why)) return ', it does not speak TLS: if it serves http, url must say so'
  if (origin.startsWith('http:') && (why === 'UND_ERR_SOCKET' || why === 'ECONNRESET'))
    return ', it closed the connection: if it serves https, url must say so'
  return ''
}

export const abortedError = (what: string): KeyrailError =>
  lasting('aborted', `${what} was aborted by its caller`)

/** Shows only the host of the target, because its path and query may hold a secret. */
export function redirectedError(what: string, location: string | null, origin: string): KeyrailError {
  const to = location !== null && URL.canParse(location, origin) ? new URL(location, origin) : undefined
  const target = to?.host ? ` to ${to.protocol}//${to.host}` : ''
  return passing(
    'network_error',
    `${what} was redirected${target}, which the SDK does not follow: set url to the service itself`,
  )
}

export const pageError = (what: string, origin: string): KeyrailError =>
  passing(
    'bad_response',
    `${what} was answered with an HTML page by ${origin}: a login page or proxy is in front of the service, or url is wrong`,
  )

export const closedError = (): KeyrailError => lasting('closed', 'The keyring was closed')

/** Whether the service was unavailable. A refusal, as for a revoked secret key, is no outage. */
export const isOutage = (error: unknown): boolean => error instanceof KeyrailError && error.retryable

export const tooLarge = (maxBytes: number): KeyrailError =>
  passing('response_too_large', `The answer has more than ${maxBytes} bytes`)

function readFaults(errors: unknown): FieldFault[] {
  if (!Array.isArray(errors)) return []
  return errors.slice(0, FAULTS_MAX).flatMap(fault => {
    const { path, message } = (fault ?? {}) as Partial<Record<keyof FieldFault, unknown>>
    if (typeof path !== 'string' || typeof message !== 'string') return []
    return [{ path: path.slice(0, DETAIL_MAX), message: message.slice(0, DETAIL_MAX) }]
  })
}

const matching = (value: unknown, pattern: RegExp): string | undefined =>
  typeof value === 'string' && pattern.test(value) ? value : undefined
