import type { Env } from '@keyrail/contract/shared'
import type { Key } from '@keyrail/contract/vendor/keys'
import type { Actor } from '../audit/append.ts'
import type { Deps } from '../deps.ts'
import type { Tx } from '../platform/db/transaction.ts'
import { Refusal } from '../platform/refusal.ts'
import { revokeFound } from './actions.ts'
import { issueKey, issueSuccessor, type ShownKey } from './issue.ts'
import { toKey } from './resource.ts'
import type { JudgedKeyRow } from './rows.ts'
import { findKey, listKeys } from './sql.ts'

/**
 * The keys of one tenant, in one project and environment: all that a tenant's own browser may touch. What lies beside
 * that is as if it were nowhere.
 */
export interface TenantKeys {
  readonly projectId: string
  readonly tenantId: string
  readonly env: Env
}

/** Newest first, one more than the limit. */
export async function listTenantKeys(
  tx: Tx,
  { projectId, tenantId, env }: TenantKeys,
  page: { includeRevoked: boolean; before: string | null; limit: number },
): Promise<Key[]> {
  return (
    await listKeys(tx, { envs: [env], projectIds: null, projectId, tenantId, name: null, ...page })
  ).map(toKey)
}

export function createTenantKey(
  deps: Deps,
  tx: Tx,
  actor: Actor,
  { projectId, tenantId, env }: TenantKeys,
  settings: { name?: string; scopes?: string[] },
): Promise<ShownKey> {
  const body = { ...settings, project_id: projectId, tenant_id: tenantId, env }
  return issueKey(deps, tx, { actor, isEmbedded: true }, body)
}

/** @param assertMay throws when a key that carries these scopes may not be made. */
export async function rotateTenantKey(
  deps: Deps,
  tx: Tx,
  actor: Actor,
  keys: TenantKeys,
  id: string,
  overlapHours: number,
  assertMay: (scopes: readonly string[]) => void,
) {
  const found = await findTenantKey(tx, keys, id)
  return await issueSuccessor(deps, tx, { actor, isEmbedded: true }, found, overlapHours, assertMay)
}

export async function revokeTenantKey(
  deps: Deps,
  tx: Tx,
  actor: Actor,
  keys: TenantKeys,
  id: string,
  reason: string | null,
): Promise<Key> {
  return toKey(await revokeFound(deps, tx, actor, await findTenantKey(tx, keys, id), reason))
}

/** @throws {Refusal} `not_found`, for a key of elsewhere as for one that nobody has. */
export async function findTenantKey(
  tx: Tx,
  { projectId, tenantId, env }: TenantKeys,
  id: string,
): Promise<JudgedKeyRow> {
  const found = await findKey(tx, id, { envs: [env], projectIds: [projectId] })
  if (found === null || found.tenant_id !== tenantId || found.project_id !== projectId)
    throw new Refusal('not_found')
  return found
}
