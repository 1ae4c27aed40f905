import type { Env } from '@keyrail/contract/shared'
import type { Key, KeyUpdate } from '@keyrail/contract/vendor/keys'
import type { Actor } from '../audit/append.ts'
import type { ReadTx, Tx } from '../platform/db/transaction.ts'
import { type Listed, mapListed } from '../platform/paging/listed.ts'
import { Refusal } from '../platform/refusal.ts'
import { revokeFound, updateFound } from './actions.ts'
import { issueKey, issueSuccessor, type ShownKey } from './issue.ts'
import type { IssueNeeds } from './needs.ts'
import { pauseFound, resumeFound } from './pause.ts'
import { toKey } from './resource.ts'
import type { JudgedKeyRow } from './rows.ts'
import { findKey, listKeys } from './sql.ts'
import type { KeyTurns } from './turns.ts'

/** What the keys of one tenant need from outside. */
export interface TenantKeyNeeds extends IssueNeeds {
  readonly keyTurns: KeyTurns
}

/**
 * The keys of one tenant in one project and environment, to which an embed token gives access. Every other key is treated as
 * missing.
 */
export interface TenantKeys {
  readonly projectId: string
  readonly tenantId: string
  readonly env: Env
}

const embedIssuer = (actor: Actor) => ({ actor, isEmbedded: true, isOwner: false })

/** Newest first, one row more than the limit. */
export async function listTenantKeys(
  tx: ReadTx,
  { projectId, tenantId, env }: TenantKeys,
  page: { includeRevoked: boolean; before: string | null; limit: number },
): Promise<Listed<Key>> {
  const filter = { envs: [env], projectIds: null, projectId, tenantId, name: null, ...page }
  return mapListed(await listKeys(tx, filter), toKey)
}

export function createTenantKey(
  deps: TenantKeyNeeds,
  tx: Tx,
  actor: Actor,
  { projectId, tenantId, env }: TenantKeys,
  settings: { name?: string; scopes?: string[] },
): Promise<ShownKey> {
  const body = { ...settings, project_id: projectId, tenant_id: tenantId, env }
  return issueKey(deps, tx, embedIssuer(actor), body)
}

/** Allowed whatever the scopes of the key. The new expiry is at most the one that the vendor has set. */
export async function updateTenantKey(
  deps: TenantKeyNeeds,
  tx: Tx,
  actor: Actor,
  keys: TenantKeys,
  id: string,
  body: Pick<KeyUpdate, 'name' | 'expires_at' | 'allowed_cidrs'>,
): Promise<Key> {
  deps.keyTurns.update.take(`${tx.workspaceId} ${keys.tenantId}`)
  const found = await findTenantKey(tx, keys, id)
  return await updateFound(deps, tx, { actor, mayExtend: false }, found, body)
}

/** @param assertMay throws when the caller may not issue a key with these scopes. */
export async function rotateTenantKey(
  deps: TenantKeyNeeds,
  tx: Tx,
  actor: Actor,
  keys: TenantKeys,
  id: string,
  overlapHours: number,
  assertMay: (scopes: readonly string[]) => void,
) {
  const found = await findTenantKey(tx, keys, id)
  return await issueSuccessor(deps, tx, embedIssuer(actor), found, overlapHours, assertMay)
}

export async function revokeTenantKey(
  deps: TenantKeyNeeds,
  tx: Tx,
  actor: Actor,
  keys: TenantKeys,
  id: string,
  reason: string | null,
): Promise<Key> {
  return toKey(await revokeFound(deps, tx, actor, await findTenantKey(tx, keys, id), reason))
}

export async function pauseTenantKey(
  deps: TenantKeyNeeds,
  tx: Tx,
  actor: Actor,
  keys: TenantKeys,
  id: string,
  reason: string | null,
): Promise<Key> {
  const found = await findTenantKey(tx, keys, id)
  return toKey(await pauseFound(deps, tx, { actor, by: 'tenant' }, found, reason))
}

/** Each change of a key costs its nodes a poll's answer, so resuming takes a turn as an update does. */
export async function resumeTenantKey(
  deps: TenantKeyNeeds,
  tx: Tx,
  actor: Actor,
  keys: TenantKeys,
  id: string,
): Promise<Key> {
  deps.keyTurns.update.take(`${tx.workspaceId} ${keys.tenantId}`)
  const found = await findTenantKey(tx, keys, id)
  return toKey(await resumeFound(deps, tx, { actor, by: 'tenant' }, found))
}

/** @throws {Refusal} `not_found`, for a key of another tenant, project or environment as for a missing key. */
export async function findTenantKey(
  tx: ReadTx,
  { projectId, tenantId, env }: TenantKeys,
  id: string,
): Promise<JudgedKeyRow> {
  const found = await findKey(tx, id, { envs: [env], projectIds: [projectId] })
  if (found === null || found.tenant_id !== tenantId || found.project_id !== projectId)
    throw new Refusal('not_found')
  return found
}
