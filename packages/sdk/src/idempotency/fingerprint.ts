import { hexDigestOf } from '../runtime/digest.ts'

/** Two requests with equal parts are the same request. Headers do not count. */
export interface RequestParts {
  method: string
  /** Path and query as sent, such as `/orders?a=1`. */
  target: string
  /** The bytes of the body, or its text; empty without a body. */
  body: Uint8Array | string
}

/** SHA-256 of method, path, sorted query and body in hexadecimal: 64 characters. */
export function fingerprintOf({ method, target, body }: RequestParts): string {
  const question = target.indexOf('?')
  const path = question === -1 ? target : target.slice(0, question)
  const query = question === -1 ? '' : sortQuery(target.slice(question + 1))
  return hashParts(['keyrail-fingerprint-v1', method.toUpperCase(), path, query, body])
}

/**
 * Sorts the pairs as sent, because decoding would lose bytes that are not UTF-8. Sorts by name only, because the order of
 * values with the same name may matter.
 */
const sortQuery = (query: string): string =>
  query
    .split('&')
    .map(pair => ({ pair, name: new URLSearchParams(pair).keys().next().value ?? '' }))
    .sort((one, other) => (one.name < other.name ? -1 : one.name > other.name ? 1 : 0))
    .map(({ pair }) => pair)
    .join('&')

/** Hash of project, tenant and `Idempotency-Key`. The service stores it in place of them. */
export const scopeHashOf = (projectId: string, tenantId: string, idempotencyKey: string): string =>
  hashParts(['keyrail-scope-v1', projectId, tenantId, idempotencyKey])

const encoder = new TextEncoder()

/** Hashes each part with its length, so that two different lists never have the same bytes. */
function hashParts(parts: readonly (Uint8Array | string)[]): string {
  const pieces = parts.map(part => (typeof part === 'string' ? encoder.encode(part) : part))
  return hexDigestOf(pieces.flatMap(bytes => [encoder.encode(`${bytes.byteLength}:`), bytes]))
}
