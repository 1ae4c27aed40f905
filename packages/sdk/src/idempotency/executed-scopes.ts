import { hexDigestOf } from '../runtime/digest.ts'

/**
 * A repetition is answered before the route checks scopes. So an answer is stored with the scopes of the key that executed
 * the request, and a key that lacks one of them does not get it.
 */

/** Stored with the headers of an answer; never sent to a client. */
export const scopesHeader = 'keyrail-scopes'

const encoder = new TextEncoder()

/** Half of a SHA-256, because 64 scopes of any length must fit into one header. */
const markOf = (scope: string): string => hexDigestOf([encoder.encode(scope)]).slice(0, 32)

/** The header that stores the scopes of a key; empty if it has none. */
export function scopeMarks(scopes: readonly string[]): [name: string, value: string][] {
  return scopes.length === 0 ? [] : [[scopesHeader, [...new Set(scopes.map(markOf))].sort().join(' ')]]
}

/** Whether a key with these scopes has all stored ones. */
export function hasMarkedScopes(kept: string | undefined, scopes: readonly string[]): boolean {
  if (kept === undefined) return true
  const marks = new Set(scopes.map(markOf))
  return kept.split(' ').every(mark => marks.has(mark))
}
