import type {
  CreatedEmbedKey,
  EmbedKey,
  EmbedKeyCreate,
  EmbedKeyList,
  RotatedEmbedKey,
} from '@keyrail/contract/embed'
import type { KeyUsage } from '@keyrail/contract/vendor/usage'
import { actorOf } from '../audit/append.ts'
import type { Deps } from '../deps.ts'
import type { EmbedGrant, EmbedPrincipal } from '../gate/principal.ts'
import {
  createTenantKey,
  findTenantKey,
  listTenantKeys,
  revokeTenantKey,
  rotateTenantKey,
  type TenantKeys,
} from '../keys/tenant-keys.ts'
import { page } from '../platform/cursor.ts'
import { Refusal } from '../platform/refusal.ts'
import { readKeyUsage } from '../usage/key-usage.ts'
import { toEmbedKey } from './resource.ts'
import { keyScopesOf } from './session.ts'

export async function listEmbedKeys(
  { db, cursors }: Deps,
  { workspaceId, embed }: EmbedPrincipal,
  query: EmbedKeyList,
) {
  const { limit = 50 } = query
  const keys = keysOf(embed)
  // A cursor of one tenant's list is none of another's.
  const list = `embed_keys ${keys.projectId} ${keys.tenantId} ${keys.env}`
  const before = query.cursor === undefined ? null : cursors.open(list, workspaceId, query.cursor)
  const includeRevoked = query.include_revoked === 'true'
  const rows = await db.inWorkspace(workspaceId, tx =>
    listTenantKeys(tx, keys, { includeRevoked, before, limit }),
  )
  return page(rows, limit, toEmbedKey, last => cursors.seal(list, workspaceId, last.id))
}

export async function createEmbedKey(
  deps: Deps,
  principal: EmbedPrincipal,
  body: EmbedKeyCreate,
): Promise<CreatedEmbedKey> {
  const { workspaceId, embed } = principal
  assertGranted(embed, body.scopes ?? [])
  const created = await deps.db.inWorkspace(workspaceId, tx =>
    createTenantKey(deps, tx, actorOf(principal), keysOf(embed), body),
  )
  return { ...toEmbedKey(created), key: created.key }
}

/** The successor carries the scopes of its predecessor, so the token must be for these. */
export async function rotateEmbedKey(
  deps: Deps,
  principal: EmbedPrincipal,
  id: string,
  overlapHours: number,
): Promise<RotatedEmbedKey> {
  const { workspaceId, embed } = principal
  const rotated = await deps.db.inWorkspace(workspaceId, tx =>
    rotateTenantKey(deps, tx, actorOf(principal), keysOf(embed), id, overlapHours, scopes =>
      assertGranted(embed, scopes),
    ),
  )
  return { ...toEmbedKey(rotated), key: rotated.key, predecessor: rotated.predecessor }
}

/** Whatever the key's scopes: stopping a leak must not wait. */
export async function revokeEmbedKey(
  deps: Deps,
  principal: EmbedPrincipal,
  id: string,
  reason: string | null,
): Promise<EmbedKey> {
  const { workspaceId, embed } = principal
  const revoked = await deps.db.inWorkspace(workspaceId, tx =>
    revokeTenantKey(deps, tx, actorOf(principal), keysOf(embed), id, reason),
  )
  return toEmbedKey(revoked)
}

export async function getEmbedKeyUsage(
  { db }: Deps,
  { workspaceId, embed }: EmbedPrincipal,
  id: string,
  days: number,
): Promise<KeyUsage> {
  return await db.inWorkspace(workspaceId, async tx => {
    await findTenantKey(tx, keysOf(embed), id)
    return await readKeyUsage(tx, id, days)
  })
}

const keysOf = ({ tenant, project, env }: EmbedGrant): TenantKeys => ({
  tenantId: tenant.id,
  projectId: project.id,
  env,
})

/** @throws {Refusal} naming the first scope that no `key_scope:` of the token is for. */
function assertGranted(embed: EmbedGrant, scopes: readonly string[]): void {
  const granted = new Set(keyScopesOf(embed))
  const missing = scopes.find(scope => !granted.has(scope))
  if (missing !== undefined) {
    throw new Refusal('insufficient_scope', `The embed token lacks the scope key_scope:${missing}.`)
  }
}
