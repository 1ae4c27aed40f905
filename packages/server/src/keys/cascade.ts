import type { Env } from '@keyrail/contract/shared'
import type { Entry } from '../audit/append.ts'
import type { Tx } from '../platform/db/transaction.ts'
import { lockPolicyHeads, notePolicyChange } from '../policy/changes.ts'
import { findProjectsOfTenant, revokeKeysOf } from './end-sql.ts'
import { toTarget } from './resource.ts'

/**
 * Revokes every active key of a project or tenant that is being deleted; expired keys stay expired. The caller has locked the
 * parent. For a tenant, this function locks the policy heads of all projects in which the tenant has keys, before the keys.
 * @returns one audit entry per key, for the caller to append after its own.
 */
export async function revokeKeysOfParent(
  tx: Tx,
  parent: 'project' | 'tenant',
  id: string,
  at: number,
): Promise<Entry[]> {
  const projects = parent === 'tenant' ? await findProjectsOfTenant(tx, id) : []
  const living = projects.length > 0 ? await lockPolicyHeads(tx, projects) : []
  const revoked = await revokeKeysOf(tx, parent, id, new Date(at))
  // A deleted project serves no keys, so its nodes need no list of revoked ones.
  for (const projectId of living) {
    const keyIds = revoked.filter(key => key.project_id === projectId).map(key => key.id)
    if (keyIds.length > 0) notePolicyChange(tx, projectId, keyIds)
  }
  return revoked
    .toSorted((a, b) => (a.id < b.id ? -1 : 1))
    .map(key => ({
      ...toTarget(key),
      action: 'api_key.revoked' as const,
      payload: { reason: `${parent}_deleted` },
    }))
}

/** The number of revoked keys in each environment; a test credential gets the test count only. */
export function countByEnv(revoked: readonly { env: Env | null }[]): Record<Env, number> {
  const counts = { live: 0, test: 0 }
  for (const { env } of revoked) if (env !== null) counts[env] += 1
  return counts
}
