import { hexDigestOf } from '../runtime/digest.ts'

/**
 * Who repeats a request is answered before the route asks for scopes, so an answer is kept with those of the key that
 * executed, and given to no key that lacks one of them.
 */

/** Beside the headers of an answer that is kept; never sent on. */
export const scopesHeader = 'keyrail-scopes'

const encoder = new TextEncoder()

/** Half of what SHA-256 tells of a name of any length: 64 scopes fit into a header. */
const markOf = (scope: string): string => hexDigestOf([encoder.encode(scope)]).slice(0, 32)

/** What is kept of the scopes of a key; nothing where it has none. */
export function scopeMarks(scopes: readonly string[]): [name: string, value: string][] {
  return scopes.length === 0 ? [] : [[scopesHeader, [...new Set(scopes.map(markOf))].sort().join(' ')]]
}

/** Whether a key with these scopes has all of those that were kept. */
export function hasMarkedScopes(kept: string | undefined, scopes: readonly string[]): boolean {
  if (kept === undefined) return true
  const marks = new Set(scopes.map(markOf))
  return kept.split(' ').every(mark => marks.has(mark))
}
