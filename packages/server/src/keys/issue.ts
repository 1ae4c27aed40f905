import type { CreatedKey, KeyCreate } from '@keyrail/contract/vendor/keys'
import { type Actor, actorOf, appendAudit } from '../audit/append.ts'
import type { Caller } from '../gate/caller.ts'
import { assertSeesProject, sightOf, type VendorPrincipal } from '../gate/principal.ts'
import { overlapEnd } from '../lifecycle/overlap.ts'
import { displayPrefix, drawToken, tokenDigest } from '../platform/crypto/token.ts'
import { mutate, type Replayable, type ReplayKey } from '../platform/db/replay.ts'
import type { Tx } from '../platform/db/transaction.ts'
import { readNetworks } from '../platform/network/read-networks.ts'
import { Refusal } from '../platform/refusal.ts'
import { iso, millisOrNull } from '../platform/time.ts'
import { lockPolicyHeads, notePolicyChange } from '../policy/changes.ts'
import { findTenantId } from './find-tenant.ts'
import { assertKnownScopes } from './known-scopes.ts'
import { endOfNewKey, endOfSuccessor } from './lifetime.ts'
import type { IssueNeeds } from './needs.ts'
import { findKeyProject } from './project-sql.ts'
import { assertEmbedQuota, assertQuota } from './quota.ts'
import { toNewKey, toTarget } from './resource.ts'
import type { JudgedKeyRow, NewKey } from './rows.ts'
import { countActiveKeys, endOverlap, findKey, holdTenant, insertKey, lockKey } from './sql.ts'

/** Issues a key. Only this response contains the key itself. */
export function createKey(
  { deps, db, principal }: Caller<IssueNeeds>,
  body: KeyCreate,
  replay: ReplayKey | null,
): Promise<Replayable> {
  assertSeesProject(principal, body.project_id)
  return mutate(
    db,
    principal.workspaceId,
    replay,
    tx => issueKey(deps, tx, vendorIssuer(principal), body),
    withoutSecret,
  )
}

/** The actor that issues a key, and whether it uses an embed token, which has separate caps. */
export interface Issuer {
  readonly actor: Actor
  readonly isEmbedded: boolean
  /** Whether the actor acts as an owner of the workspace: ended keys never keep an owner from issuing. */
  readonly isOwner: boolean
}
const vendorIssuer = (principal: VendorPrincipal): Issuer => ({
  actor: actorOf(principal),
  isEmbedded: false,
  isOwner: principal.role === 'owner',
})
/** An embed token lives for minutes, so it does not count as a maker. */
const makerIdOf = ({ actor, isEmbedded }: Issuer) => (isEmbedded ? null : actor.id)

/** A key with its secret, which is shown once. */
export type ShownKey = CreatedKey & { key: string }

export async function issueKey(deps: IssueNeeds, tx: Tx, issuer: Issuer, body: KeyCreate): Promise<ShownKey> {
  const { actor, isEmbedded, isOwner } = issuer
  const networks = body.allowed_cidrs == null ? null : readNetworks(body.allowed_cidrs)
  const tenantId = body.tenant_id ?? (await findTenantId(tx, body.external_id))
  if (tenantId === null) throw new Refusal('not_found')
  const place = {
    project_id: body.project_id.toLowerCase(),
    tenant_id: tenantId.toLowerCase(),
    env: body.env,
    is_embedded: isEmbedded,
  }
  const [tenant, project, active, ended] = await Promise.all([
    holdTenant(tx, tenantId),
    findKeyProject(tx, body.project_id),
    isEmbedded ? 0 : countActiveKeys(tx, place, deps.config.maxActiveKeysPerTenant),
    deps.endedQuota.count(tx, place),
  ])
  if (tenant === null || project === null) throw new Refusal('not_found')
  assertKnownScopes(project, body.scopes ?? [], [])
  await (isEmbedded ? assertEmbedQuota(deps, tx, place, 1) : assertQuota(deps, tx, place, active))
  const made_by = makerIdOf(issuer)
  await deps.endedQuota.make(tx, place, { id: made_by, passes: isOwner }, ended)

  const at = deps.clock.now()
  const { key, row } = drawKey(deps, at, project.key_prefix, {
    ...place,
    name: body.name ?? null,
    scopes: body.scopes ?? [],
    meta: body.meta ?? {},
    rate_limits: body.rate_limits ?? null,
    allowed_cidrs: networks,
    expires_at: endOfNewKey(project, at, body.expires_at),
    rotated_from: null,
    made_by,
  })
  insertKey(tx, row)
  notePolicyChange(tx, project.id, [row.id])
  const created = toNewKey(row)
  appendAudit(deps, tx, actor, at, [{ ...toTarget(row), action: 'api_key.created', payload: { ...created } }])
  return { ...created, key }
}

/** Issues a successor with the same settings; the old key keeps working for the overlap. */
export function rotateKey(
  { deps, db, principal }: Caller<IssueNeeds>,
  id: string,
  overlapHours: number,
  replay: ReplayKey | null,
): Promise<Replayable> {
  return mutate(
    db,
    principal.workspaceId,
    replay,
    async tx => {
      const found = await findKey(tx, id, sightOf(principal))
      if (found === null) throw new Refusal('not_found')
      return await issueSuccessor(deps, tx, vendorIssuer(principal), found, overlapHours)
    },
    withoutSecret,
  )
}

/**
 * @param assertMay throws when the caller may not issue a key with these scopes. The first call uses the unlocked row,
 * so that most refusals are early; the scopes can change until the key is locked, so it runs again after that.
 */
export async function issueSuccessor(
  deps: IssueNeeds,
  tx: Tx,
  issuer: Issuer,
  found: JudgedKeyRow,
  overlapHours: number,
  assertMay?: (scopes: readonly string[]) => void,
) {
  assertMay?.(found.scopes)
  const project = await checkQuotaOfSuccessor(deps, tx, issuer, found, overlapHours)
  const [, locked] = await Promise.all([lockPolicyHeads(tx, [found.project_id]), lockKey(tx, found.id)])
  const row = locked ?? found
  assertMay?.(row.scopes)
  if (!row.is_active || project === null) {
    throw new Refusal('key_not_active', 'A revoked or expired key cannot be rotated.')
  }
  if (row.disabled_at !== null)
    throw new Refusal('key_not_active', 'A paused key cannot be rotated. Resume it first.')

  const at = deps.clock.now()
  const endsAt = new Date(overlapEnd(millisOrNull(row.expires_at), row.now.getTime(), overlapHours))
  const { key, row: successor } = drawKey(deps, at, project.key_prefix, {
    project_id: row.project_id,
    tenant_id: row.tenant_id,
    env: row.env,
    name: row.name,
    scopes: row.scopes,
    meta: row.meta,
    rate_limits: row.rate_limits,
    allowed_cidrs: row.allowed_cidrs,
    expires_at: endOfSuccessor(project, at, row),
    rotated_from: row.id,
    is_embedded: issuer.isEmbedded,
    made_by: makerIdOf(issuer),
  })
  insertKey(tx, successor)
  endOverlap(tx, row.id, endsAt, successor)
  notePolicyChange(tx, row.project_id, [row.id, successor.id])
  const created = toNewKey(successor)
  const predecessor = { id: row.id, expires_at: iso(endsAt) }
  appendAudit(deps, tx, issuer.actor, at, [
    { ...toTarget(row), action: 'api_key.rotated', payload: { successor: created, predecessor } },
  ])
  return { ...created, key, predecessor }
}

/**
 * With an overlap both keys count for a while; without an overlap the successor replaces its predecessor, if both count for the
 * same cap.
 * @returns the project of the key.
 */
async function checkQuotaOfSuccessor(
  deps: IssueNeeds,
  tx: Tx,
  issuer: Issuer,
  found: JudgedKeyRow,
  overlapHours: number,
) {
  const { tenant_id, project_id, env } = found
  const { isEmbedded } = issuer
  const place = { tenant_id, project_id, env, is_embedded: isEmbedded }
  const [active, project, ended] = await Promise.all([
    isEmbedded ? 0 : countActiveKeys(tx, place, deps.config.maxActiveKeysPerTenant),
    findKeyProject(tx, project_id),
    deps.endedQuota.count(tx, place),
  ])
  if (!found.is_active) return project
  const isAdded = overlapHours > 0 || isEmbedded !== (found.embedded_at !== null)
  if (isEmbedded) await assertEmbedQuota(deps, tx, place, isAdded ? 1 : 0)
  else if (isAdded) await assertQuota(deps, tx, place, active)
  await deps.endedQuota.make(tx, place, { id: makerIdOf(issuer), passes: true }, ended)
  return project
}

/** Generates a key and the row to store, which holds only the digest of the key. */
function drawKey(
  deps: IssueNeeds,
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

const withoutSecret = ({ key: _, ...rest }: CreatedKey) => rest
