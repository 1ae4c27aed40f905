import { refusalStatus } from '@keyrail/contract/verdicts'
import { type HttpProblem, httpProblem } from '../http/problem.ts'
import type { RefusalCode, Refused } from '../verify/verdict.ts'
import type { CredentialFault } from './credential.ts'

/** A refusal over HTTP: RFC 9457 problem details with RFC 6750 challenges, for any framework. */
export interface HttpRefusal extends HttpProblem<RefusalCode> {
  status: 401 | 403 | 503
}

/** In seconds. A node that has lost the service retries at least this often. */
const RETRY_AFTER = '5'

/** @param header where the key is expected; empty if only the vendor's `getKey` knows */
export function toHttpRefusal(
  { code, message }: Refused,
  {
    scopes = [],
    header = 'authorization',
    fault,
  }: {
    scopes?: readonly string[]
    header?: string | readonly string[]
    fault?: CredentialFault | undefined
  } = {},
): HttpRefusal {
  const status = refusalStatus(code)
  const detail = detailOf(code, message, wayToSend([header].flat()), fault)
  const headers = headersOf(status, code, scopes)
  const more = code === 'insufficient_scope' ? { scopes } : {}
  return { ...httpProblem(status, code, detail, { headers, more }), status }
}

function headersOf(status: number, code: RefusalCode, scopes: readonly string[]): Record<string, string> {
  if (status === 503) return { 'retry-after': RETRY_AFTER }
  // No other token helps: the key is right, and the place is not.
  if (code === 'ip_unknown' || code === 'ip_not_allowed') return {}
  return { 'www-authenticate': challenge(code, scopes) }
}

/** Without credentials the challenge has no error (RFC 6750 §3.1). */
function challenge(code: RefusalCode, scopes: readonly string[]): string {
  if (code === 'missing_key') return 'Bearer'
  if (code !== 'insufficient_scope') return 'Bearer error="invalid_token"'
  // Scopes with characters that a header cannot carry are only in the body.
  const named = scopes.filter(scope => /^[\x21\x23-\x5b\x5d-\x7e]+$/.test(scope)).join(' ')
  return `Bearer error="insufficient_scope"${named && `, scope="${named}"`}`
}

const faults: { readonly [Fault in CredentialFault]: string } = {
  twice: 'More than one API key was presented: send one',
  other_scheme: 'The API key was not sent as Bearer',
  no_scheme: 'The API key was sent without the word Bearer',
  bad_form: 'No API key follows the word Bearer',
}

function detailOf(
  code: RefusalCode,
  message: string,
  way: string | undefined,
  fault: CredentialFault | undefined,
): string {
  if (fault === 'twice') return faults.twice
  if (fault !== undefined) return `${faults[fault]}: ${way}`
  return code === 'missing_key' && way !== undefined ? `${message}: ${way}` : message
}

function wayToSend(headers: readonly string[]): string | undefined {
  if (headers.length === 0) return undefined
  const ways = headers.map(header =>
    header === 'authorization' ? 'as "Authorization: Bearer <key>"' : `in the header ${header}`,
  )
  return `send it ${ways.join(' or ')}`
}
