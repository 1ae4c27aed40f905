/**
 * Scopes match exactly, character for character. The API takes any text; a space or a `*` in one is nearly always a list or a
 * pattern that no server will match. Forms refuse such a scope, and the service warns of it.
 */

/** What every message about such a scope says. */
export const scopesMatchExactly = 'scopes match exactly, so a scope has no spaces and no wildcard (*)'

/** Whether a scope looks like several scopes, or like a pattern. */
export const looksInexact = (scope: string): boolean => /[\p{White_Space}*]/u.test(scope)
