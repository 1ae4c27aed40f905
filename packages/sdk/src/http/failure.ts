import { type FieldFault, KeyrailError } from '../runtime/errors.ts'
import { readRetryAfter } from './schedule.ts'

/** Makes one kind of error of all that can go wrong on the wire. Texts of others are cut and never hold the secret. */

const DETAIL_MAX = 300
const FAULTS_MAX = 50
/** `ECONNREFUSED`, `UND_ERR_SOCKET`. */
const systemCode = /^[A-Z][A-Z0-9_]{1,63}$/
const retryableStatuses = new Set([408, 425, 429])

/**
 * An answer with a status that was not asked for, with what a problem document (RFC 9457) tells of it.
 *
 * @param what was asked: method and path
 */
export function problemError(
  what: string,
  response: Response,
  text: string,
  { secretKey, origin }: { secretKey: string; origin: string },
): KeyrailError {
  const { status, headers } = response
  // Before anything is cut: half a secret is one too.
  const clean = (said: string) => said.replaceAll(secretKey, '[secret key]')
  const problem = parseProblem(clean(text))
  const told = matching(problem.code, /^[a-z][a-z0-9_]{0,63}$/)
  const code = told ?? `http_${status}`
  const detail = typeof problem.detail === 'string' ? `: ${problem.detail.slice(0, DETAIL_MAX)}` : ''
  const by = told === undefined ? ` by ${origin}, which is not how Keyrail answers` : ''
  const message = `${what} was answered ${status} ${code}${detail}${by}`
  return new KeyrailError(code, message, {
    status,
    requestId: matching(problem.request_id ?? clean(headers.get('x-request-id') ?? ''), /^[\w.:-]{1,128}$/),
    errors: readFaults(problem.errors),
    docUrl: matching(problem.type, /^https:\/\/[\w./-]{1,200}$/),
    // Without a code it is not the service that refuses, but something before it, as a proxy that lost sight of it.
    retryable: told === undefined || status >= 500 || retryableStatuses.has(status),
    retryAfterMs: readRetryAfter(headers.get('retry-after'), Date.now()),
  })
}

/** No answer. The cause is not attached: what a custom `fetch` throws may hold the request, and that the secret. */
export function transportError(
  error: unknown,
  { what, origin, timedOut, aborted }: { what: string; origin: string; timedOut: boolean; aborted: boolean },
): KeyrailError {
  if (aborted) return abortedError(what)
  if (timedOut)
    return new KeyrailError('timeout', `${what} was not answered in time by ${origin}`, { retryable: true })
  const { cause, code, name } = (error ?? {}) as {
    cause?: { code?: unknown }
    code?: unknown
    name?: unknown
  }
  const why =
    matching(cause?.code, systemCode) ?? matching(code, systemCode) ?? matching(name, /^[A-Za-z]{1,40}Error$/)
  const message = `${what} failed at ${origin}: ${why ?? 'no reason given'}${hintOf(why ?? '', origin)}`
  return new KeyrailError('network_error', message, { retryable: true })
}

/** What the code of a system or of TLS means for who wrote `baseUrl`. */
function hintOf(why: string, origin: string): string {
  if (why === 'ECONNREFUSED') return ', nothing listens there'
  if (why === 'ENOTFOUND' || why === 'EAI_AGAIN') return ', no such host is known'
  if (/CERT|SIGNATURE/.test(why)) return ', its certificate is not trusted, or is of another host'
  if (/^ERR_SSL|^EPROTO/.test(why)) return ', it speaks no TLS: if it is http, baseUrl must say so'
  if (origin.startsWith('http:') && (why === 'UND_ERR_SOCKET' || why === 'ECONNRESET'))
    return ', it hung up: if it is https, baseUrl must say so'
  return ''
}

export const abortedError = (what: string): KeyrailError =>
  new KeyrailError('aborted', `${what} was given up by its caller`, { retryable: false })

/** Of where it leads only the host is told: what stands behind that may be a secret. */
export function redirectedError(what: string, location: string | null, origin: string): KeyrailError {
  const to = location !== null && URL.canParse(location, origin) ? new URL(location, origin) : undefined
  const target = to?.host ? ` to ${to.protocol}//${to.host}` : ''
  return new KeyrailError(
    'network_error',
    `${what} was answered with a redirect${target}, which is not followed: baseUrl must be the service itself`,
    { retryable: true },
  )
}

export const pageError = (what: string, origin: string): KeyrailError =>
  new KeyrailError(
    'bad_response',
    `${what} was answered with a page of HTML by ${origin}: a login or a proxy stands before the service, or baseUrl is not its address`,
    { retryable: true },
  )

export const closedError = (): KeyrailError =>
  new KeyrailError('closed', 'The keyring was closed', { retryable: false })

/** Whether the service could not be asked. What it has refused, such as a revoked secret key, is no outage. */
export const isOutage = (error: unknown): boolean => error instanceof KeyrailError && error.retryable

export const tooLarge = (maxBytes: number): KeyrailError =>
  new KeyrailError('response_too_large', `The answer has more than ${maxBytes} bytes`, { retryable: true })

function parseProblem(text: string): Record<string, unknown> {
  try {
    const problem: unknown = JSON.parse(text)
    return typeof problem === 'object' && problem !== null ? (problem as Record<string, unknown>) : {}
  } catch {
    return {}
  }
}

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
