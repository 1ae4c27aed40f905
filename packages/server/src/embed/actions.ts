import type {
  CreatedEmbedKey,
  EmbedKey,
  EmbedKeyCreate,
  EmbedKeyList,
  EmbedKeyUpdate,
  RotatedEmbedKey,
} from '@keyrail/contract/embed'
import type { Key } from '@keyrail/contract/vendor/keys'
import type { TenantCreate } from '@keyrail/contract/vendor/tenants'
import type { KeyUsage } from '@keyrail/contract/vendor/usage'
import { actorOf } from '../audit/append.ts'
import type { Caller } from '../gate/caller.ts'
import type { EmbedGrant, EmbedPrincipal } from '../gate/principal.ts'
import {
  createTenantKey,
  findTenantKey,
  listTenantKeys,
  pauseTenantKey,
  resumeTenantKey,
  revokeTenantKey,
  rotateTenantKey,
  type TenantKeys,
  updateTenantKey,
} from '../keys/tenant-keys.ts'
import type { Db } from '../platform/db/db.ts'
import { page } from '../platform/paging/cursor.ts'
import { Refusal } from '../platform/refusal.ts'
import { meetTenant } from '../tenants/meet.ts'
import { readKeyUsage } from '../usage/key-usage.ts'
import type { EmbedNeeds } from './needs.ts'
import { keyScopesOf, networkScope } from './session.ts'

/** A key as the tenant's browser sees it. Fields are listed one by one, so that new fields of keys stay hidden. */
const toEmbedKey = (key: Key): EmbedKey => ({
  object: key.object,
  id: key.id,
  name: key.name,
  display_prefix: key.display_prefix,
  scopes: key.scopes,
  rate_limits: key.rate_limits,
  allowed_cidrs: key.allowed_cidrs,
  expires_at: key.expires_at,
  revoked_at: key.revoked_at,
  revoked_reason: key.revoked_reason,
  disabled_at: key.disabled_at,
  disabled_reason: key.disabled_reason,
  disabled_by: key.disabled_by,
  rotated_from: key.rotated_from,
  rotated_to: key.rotated_to,
  last_used_at: key.last_used_at,
  updated_at: key.updated_at,
  created_at: key.created_at,
})

export async function listEmbedKeys(
  { deps: { cursors }, db, principal: { workspaceId, embed } }: Caller<EmbedNeeds, EmbedPrincipal>,
  query: EmbedKeyList,
) {
  const { limit } = query
  const keys = keysOf(embed)
  // A cursor is valid for the list of one tenant only.
  const list = `embed_keys ${keys.projectId} ${keys.tenantId} ${keys.env}`
  const before = query.cursor === undefined ? null : cursors.open(list, workspaceId, query.cursor)
  const includeRevoked = query.include_revoked === 'true'
  const rows = await db.readAtOnce(workspaceId, tx =>
    listTenantKeys(tx, keys, { includeRevoked, before, limit }),
  )
  return page(rows, limit, toEmbedKey, last => cursors.seal(list, workspaceId, last.id))
}

export async function createEmbedKey(
  { deps, db, principal }: Caller<EmbedNeeds, EmbedPrincipal>,
  body: EmbedKeyCreate,
): Promise<CreatedEmbedKey> {
  const { workspaceId, embed } = principal
  assertGranted(embed, body.scopes ?? [])
  const created = await db.inWorkspace(workspaceId, tx =>
    createTenantKey(deps, tx, actorOf(principal), keysOf(embed), body),
  )
  return { ...toEmbedKey(created), key: created.key }
}

export async function updateEmbedKey(
  { deps, db, principal }: Caller<EmbedNeeds, EmbedPrincipal>,
  id: string,
  body: EmbedKeyUpdate,
): Promise<EmbedKey> {
  const { workspaceId, embed } = principal
  if (body.allowed_cidrs !== undefined && !embed.scopes.includes(networkScope))
    throw new Refusal('insufficient_scope', `The embed token lacks the scope ${networkScope}.`)
  const updated = await db.inWorkspace(workspaceId, tx =>
    updateTenantKey(deps, tx, actorOf(principal), keysOf(embed), id, body),
  )
  return toEmbedKey(updated)
}

/** The successor has the scopes of its predecessor, so the token must grant them. */
export async function rotateEmbedKey(
  { deps, db, principal }: Caller<EmbedNeeds, EmbedPrincipal>,
  id: string,
  overlapHours: number,
): Promise<RotatedEmbedKey> {
  const { workspaceId, embed } = principal
  const rotated = await db.inWorkspace(workspaceId, tx =>
    rotateTenantKey(deps, tx, actorOf(principal), keysOf(embed), id, overlapHours, scopes =>
      assertGranted(embed, scopes),
    ),
  )
  return { ...toEmbedKey(rotated), key: rotated.key, predecessor: rotated.predecessor }
}

/** Allowed whatever the scopes of the key: stopping a leak must not wait. */
export async function revokeEmbedKey(
  { deps, db, principal }: Caller<EmbedNeeds, EmbedPrincipal>,
  id: string,
  reason: string | null,
): Promise<EmbedKey> {
  const { workspaceId, embed } = principal
  const revoked = await db.inWorkspace(workspaceId, tx =>
    revokeTenantKey(deps, tx, actorOf(principal), keysOf(embed), id, reason),
  )
  return toEmbedKey(revoked)
}

/** Allowed whatever the scopes of the key, as a revocation is. */
export async function disableEmbedKey(
  { deps, db, principal }: Caller<EmbedNeeds, EmbedPrincipal>,
  id: string,
  reason: string | null,
): Promise<EmbedKey> {
  const { workspaceId, embed } = principal
  const paused = await db.inWorkspace(workspaceId, tx =>
    pauseTenantKey(deps, tx, actorOf(principal), keysOf(embed), id, reason),
  )
  return toEmbedKey(paused)
}

/** Allowed whatever the scopes of the key: the same tenant paused it. */
export async function enableEmbedKey(
  { deps, db, principal }: Caller<EmbedNeeds, EmbedPrincipal>,
  id: string,
): Promise<EmbedKey> {
  const { workspaceId, embed } = principal
  const resumed = await db.inWorkspace(workspaceId, tx =>
    resumeTenantKey(deps, tx, actorOf(principal), keysOf(embed), id),
  )
  return toEmbedKey(resumed)
}

/** For a mint that names a customer whom the vendor has not created as a tenant yet. */
export async function meetEmbedTenant(
  { deps, db, principal }: Caller<EmbedNeeds>,
  body: TenantCreate,
): Promise<{ id: string; epoch: number }> {
  // A tenant belongs to no environment, and a key of the test environment changes nothing there.
  if (principal.reach === 'test') {
    throw new Refusal(
      'live_credential_required',
      'A test key mints for existing tenants only. Create this one with a live key.',
    )
  }
  const tenant = await db.inWorkspace(principal.workspaceId, tx =>
    meetTenant(deps, tx, actorOf(principal), body),
  )
  return { id: tenant.id, epoch: tenant.embed_epoch }
}

export async function getEmbedKeyUsage(
  db: Db,
  { workspaceId, embed }: EmbedPrincipal,
  id: string,
  days: number,
): Promise<KeyUsage> {
  return await db.readAtOnce(workspaceId, async tx => {
    const [, usage] = await Promise.all([findTenantKey(tx, keysOf(embed), id), readKeyUsage(tx, id, days)])
    return usage
  })
}

const keysOf = ({ tenant, project, env }: EmbedGrant): TenantKeys => ({
  tenantId: tenant.id,
  projectId: project.id,
  env,
})

/** @throws {Refusal} naming the first scope that the token does not grant with `key_scope:`. */
function assertGranted(embed: EmbedGrant, scopes: readonly string[]): void {
  const granted = new Set(keyScopesOf(embed))
  const missing = scopes.find(scope => !granted.has(scope))
  if (missing !== undefined) {
    throw new Refusal('insufficient_scope', `The embed token lacks the scope key_scope:${missing}.`)
  }
}
