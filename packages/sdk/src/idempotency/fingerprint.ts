import { hexDigestOf } from '../runtime/digest.ts'

/** What makes two requests the same. Headers do not count. */
export interface RequestParts {
  method: string
  /** Path and query as they were sent, such as `/orders?a=1`. */
  target: string
  /** The bytes of the body, or text; empty where there is none. */
  body: Uint8Array | string
}

/** SHA-256 in hexadecimal of method, path, sorted query and body, in that order. */
export function fingerprintOf({ method, target, body }: RequestParts): string {
  const question = target.indexOf('?')
  const path = question === -1 ? target : target.slice(0, question)
  const query = question === -1 ? '' : sortQuery(target.slice(question + 1))
  return hashParts(['keyrail-fingerprint-v1', method.toUpperCase(), path, query, body])
}

/**
 * The pairs as they were sent, since a byte that is no text is lost when it is decoded. Sorted by name alone: the order
 * in which one name is repeated may mean something, however it is spelt.
 */
const sortQuery = (query: string): string =>
  query
    .split('&')
    .map(pair => ({ pair, name: new URLSearchParams(pair).keys().next().value ?? '' }))
    .sort((one, other) => (one.name < other.name ? -1 : one.name > other.name ? 1 : 0))
    .map(({ pair }) => pair)
    .join('&')

/** Whose request it is, and the key that they sent: what the service keeps in place of either. */
export const scopeHashOf = (projectId: string, tenantId: string, idempotencyKey: string): string =>
  hashParts(['keyrail-scope-v1', projectId, tenantId, idempotencyKey])

const encoder = new TextEncoder()

/** Each part with its length, so that no two lists spell the same bytes. */
function hashParts(parts: readonly (Uint8Array | string)[]): string {
  const pieces = parts.map(part => (typeof part === 'string' ? encoder.encode(part) : part))
  return hexDigestOf(pieces.flatMap(bytes => [encoder.encode(`${bytes.byteLength}:`), bytes]))
}
