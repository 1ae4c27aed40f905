import type { ReadTx } from '../platform/db/transaction.ts'
import { invalidField } from '../platform/refusal.ts'
import { findKnownScopes } from './project-sql.ts'
import type { ScopeRules } from './rows.ts'

/**
 * Refuses a scope that a strict project does not know: otherwise the tenant would find a typo, when requests fail.
 * @param kept the scopes that the key has already, which it keeps even if the project does not know them any more.
 */
export function assertKnownScopes(
  { known_scopes, strict_scopes }: ScopeRules,
  scopes: readonly string[],
  kept: readonly string[],
): void {
  if (!strict_scopes || scopes.length === 0) return
  const taken = new Set([...(known_scopes ?? []), ...kept])
  const at = scopes.findIndex(scope => !taken.has(scope))
  if (at !== -1)
    throw invalidField(`scopes.${at}`, 'is not among the known_scopes of the project, which is strict')
}

/** The scopes that the project knows, in the project's order. */
export async function offeredScopes(
  tx: ReadTx,
  projectId: string,
  scopes: readonly string[],
): Promise<string[]> {
  const granted = new Set(scopes)
  return (await findKnownScopes(tx, projectId)).filter(scope => granted.has(scope))
}
