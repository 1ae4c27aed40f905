import { looksInexact, scopesMatchExactly } from '@keyrail/contract/scopes'
import type { Route } from './route.ts'

/** The header of an answer to a request that was done and is probably a mistake. */
export const warningHeader = 'Keyrail-Warning'

const fields = ['scopes', 'known_scopes'] as const

/**
 * The fields of a route's body that have scopes to be stored. Requests of browsers of tenants only name scopes that a token gives,
 * and an explanation compares them.
 */
export const scopeFieldsOf = ({
  plane,
  operation,
  body,
}: Pick<Route, 'plane' | 'operation' | 'body'>): readonly string[] => {
  const { properties = {} } = (body ?? {}) as { properties?: object }
  return plane === 'vendor' && operation !== 'explainKeyText'
    ? fields.filter(field => field in properties)
    : []
}

/**
 * Which scopes of a request match nothing that was probably meant, by their paths: `scopes.1: …`. The text is ASCII, as a header
 * must be, and has no scope. Null: none.
 */
export function scopeWarning(route: Parameters<typeof scopeFieldsOf>[0], body: unknown): string | null {
  const given = (body ?? {}) as Record<string, readonly string[] | undefined>
  const paths = scopeFieldsOf(route).flatMap(field =>
    (given[field] ?? []).flatMap((scope, place) => (looksInexact(scope) ? [`${field}.${place}`] : [])),
  )
  return paths.length === 0 ? null : `${paths.join(', ')}: ${scopesMatchExactly}`
}
