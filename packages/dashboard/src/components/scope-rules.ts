import { looksInexact, scopesMatchExactly } from '@keyrail/contract/scopes'

const lengthMax = 200

/**
 * The rule for the scopes of a field, for `validate` of a form. The service names the place of a fault; the field has one
 * message for all. Null: the scopes are right.
 *
 * @param stored the scopes that the key has already. They are not judged.
 */
export const ruleOfScopes =
  (stored: readonly string[] = []) =>
  (scopes: readonly string[]): string | null => {
    const added = scopes.filter(scope => !stored.includes(scope))
    if (added.some(scope => scope.length > lengthMax)) return `A scope has at most ${lengthMax} characters.`
    const inexact = added.find(looksInexact)
    return inexact === undefined ? null : `“${inexact}” is not a scope: ${scopesMatchExactly}.`
  }
