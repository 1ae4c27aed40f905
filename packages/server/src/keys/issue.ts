import type { CreatedKey, KeyCreate } from '@keyrail/contract/vendor/keys'
import { type Actor, actorOf, appendAudit } from '../audit/append.ts'
import type { Deps } from '../deps.ts'
import { assertSeesProject, sightOf, type VendorPrincipal } from '../gate/principal.ts'
import { displayPrefix, drawToken, tokenDigest } from '../platform/crypto/token.ts'
import { mutate, type Replayable, type ReplayKey } from '../platform/db/replay.ts'
import type { Tx } from '../platform/db/transaction.ts'
import { Refusal } from '../platform/refusal.ts'
import { dateOrNull, iso, millisOrNull } from '../platform/time.ts'
import { lockPolicyHeads, notePolicyChange } from '../policy/changes.ts'
import { isActive, overlapEnd } from './lifecycle.ts'
import { toNewKey, toTarget } from './resource.ts'
import { assertEmbedRoom, assertRoom } from './room.ts'
import type { JudgedKeyRow, KeyRow, NewKey } from './rows.ts'
import {
  countActiveKeys,
  endOverlap,
  findKey,
  findKeyProject,
  findTenantId,
  holdTenant,
  insertKey,
  lockKey,
} from './sql.ts'

/** Issues a key. The answer is the only place where the key itself is ever shown. */
export function createKey(
  deps: Deps,
  principal: VendorPrincipal,
  body: KeyCreate,
  replay: ReplayKey | null,
): Promise<Replayable> {
  assertSeesProject(principal, body.project_id)
  return mutate(
    deps.db,
    principal.workspaceId,
    replay,
    201,
    tx => issueKey(deps, tx, { actor: actorOf(principal), isEmbedded: false }, body),
    withoutSecret,
  )
}

/** Who makes a key, and whether that is in the embed plane, which has caps of its own. */
export interface Issuer {
  readonly actor: Actor
  readonly isEmbedded: boolean
}

/** A key as it is shown once. */
export type ShownKey = CreatedKey & { key: string }

export async function issueKey(
  deps: Deps,
  tx: Tx,
  { actor, isEmbedded }: Issuer,
  body: KeyCreate,
): Promise<ShownKey> {
  const tenantId = body.tenant_id ?? (await findTenantId(tx, body.external_id))
  if (tenantId === null) throw new Refusal('not_found')
  const [tenant, project, active] = await Promise.all([
    holdTenant(tx, tenantId),
    findKeyProject(tx, body.project_id),
    countActiveKeys(tx, tenantId, deps.config.maxActiveKeysPerTenant),
  ])
  if (tenant === null || project === null) throw new Refusal('not_found')
  await assertRoom(deps, tx, tenant.id, active)
  const place = { project_id: project.id, tenant_id: tenant.id, env: body.env }
  if (isEmbedded) await assertEmbedRoom(deps, tx, place, 1)

  const at = deps.clock.now()
  const { key, row } = drawKey(deps, at, project.key_prefix, {
    ...place,
    name: body.name ?? null,
    scopes: body.scopes ?? [],
    meta: body.meta ?? {},
    rate_limits: body.rate_limits ?? null,
    expires_at: dateOrNull(body.expires_at),
    rotated_from: null,
    is_embedded: isEmbedded,
  })
  insertKey(tx, row)
  notePolicyChange(tx, project.id, [row.id])
  const created = toNewKey(row)
  appendAudit(deps, tx, actor, at, [{ ...toTarget(row), action: 'api_key.created', payload: { ...created } }])
  return { ...created, key }
}

/** Puts a successor beside a key, with every setting of it; the key itself lives on for the overlap. */
export function rotateKey(
  deps: Deps,
  principal: VendorPrincipal,
  id: string,
  overlapHours: number,
  replay: ReplayKey | null,
): Promise<Replayable> {
  return mutate(
    deps.db,
    principal.workspaceId,
    replay,
    200,
    async tx => {
      const found = await findKey(tx, id, sightOf(principal))
      if (found === null) throw new Refusal('not_found')
      return await issueSuccessor(
        deps,
        tx,
        { actor: actorOf(principal), isEmbedded: false },
        found,
        overlapHours,
      )
    },
    withoutSecret,
  )
}

/**
 * @param assertMay throws when a key that carries these scopes may not be made. Until the key is locked somebody may
 * give it others, so what was found says only what is refused at once.
 */
export async function issueSuccessor(
  deps: Deps,
  tx: Tx,
  { actor, isEmbedded }: Issuer,
  found: JudgedKeyRow,
  overlapHours: number,
  assertMay?: (scopes: readonly string[]) => void,
) {
  assertMay?.(found.scopes)
  const { maxActiveKeysPerTenant } = deps.config
  const [active, project] = await Promise.all([
    countActiveKeys(tx, found.tenant_id, maxActiveKeysPerTenant),
    findKeyProject(tx, found.project_id),
  ])
  // With an overlap both count for a while; without one the successor takes the predecessor's place.
  const staysBeside = overlapHours > 0
  if (staysBeside && isActiveRow(found)) await assertRoom(deps, tx, found.tenant_id, active)
  if (isEmbedded && isActiveRow(found)) {
    await assertEmbedRoom(deps, tx, found, staysBeside || found.embedded_at === null ? 1 : 0)
  }
  const [, locked] = await Promise.all([lockPolicyHeads(tx, [found.project_id]), lockKey(tx, found.id)])
  const row = locked ?? found
  assertMay?.(row.scopes)
  if (!isActiveRow(row) || project === null) {
    throw new Refusal('key_not_active', 'A revoked or expired key cannot be rotated.')
  }

  const at = deps.clock.now()
  const endsAt = new Date(overlapEnd(lifeOf(row), row.now.getTime(), overlapHours))
  const { key, row: successor } = drawKey(deps, at, project.key_prefix, {
    project_id: row.project_id,
    tenant_id: row.tenant_id,
    env: row.env,
    name: row.name,
    scopes: row.scopes,
    meta: row.meta,
    rate_limits: row.rate_limits,
    expires_at: endsWithOverlap(row) ? row.original_expires_at : row.expires_at,
    rotated_from: row.id,
    is_embedded: isEmbedded,
  })
  insertKey(tx, successor)
  endOverlap(tx, row.id, endsAt, successor)
  notePolicyChange(tx, row.project_id, [row.id, successor.id])
  const created = toNewKey(successor)
  const predecessor = { id: row.id, expires_at: iso(endsAt) }
  appendAudit(deps, tx, actor, at, [
    { ...toTarget(row), action: 'api_key.rotated', payload: { successor: created, predecessor } },
  ])
  return { ...created, key, predecessor }
}

/** Draws a key and the row to keep of it: its digest, never itself. */
function drawKey(
  deps: Deps,
  at: number,
  prefix: string,
  settings: Omit<NewKey, 'id' | 'digest' | 'display_prefix' | 'created_at'>,
) {
  const key = drawToken(`${prefix}_${settings.env}`, deps.randomBytes)
  const row: NewKey = {
    ...settings,
    id: deps.makeId(),
    digest: tokenDigest(key),
    display_prefix: displayPrefix(key),
    created_at: new Date(at),
  }
  return { key, row }
}

const lifeOf = (row: KeyRow) => ({
  expiresAt: millisOrNull(row.expires_at),
  revokedAt: millisOrNull(row.revoked_at),
})

/** Its expiry is the end of an overlap, and no setting of it. A PATCH may have set an earlier one since. */
const endsWithOverlap = ({ expires_at, overlap_ends_at }: KeyRow) =>
  overlap_ends_at !== null && overlap_ends_at.getTime() === expires_at?.getTime()

const isActiveRow = (row: JudgedKeyRow) => isActive(lifeOf(row), row.now.getTime())

const withoutSecret = ({ key: _, ...rest }: CreatedKey) => rest
