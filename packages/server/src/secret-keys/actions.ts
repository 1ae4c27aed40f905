import type { SecretKey, SecretKeyCreate } from '@keyrail/contract/vendor/secret-keys'
import type { LeakPlace } from '@keyrail/contract/webhook'
import { type Actor, actorOf, appendAudit } from '../audit/append.ts'
import type { Deps } from '../deps.ts'
import { credentialsTopic } from '../gate/hot-credentials.ts'
import { type Role, roles, type VendorPrincipal, visibleEnvs } from '../gate/principal.ts'
import { isActive, overlapEnd } from '../keys/lifecycle.ts'
import { page } from '../platform/cursor.ts'
import { mutate, type Replayable, type ReplayKey } from '../platform/db/replay.ts'
import type { Tx } from '../platform/db/transaction.ts'
import { Refusal } from '../platform/refusal.ts'
import { dateOrNull, iso, millisOrNull } from '../platform/time.ts'
import { issueSecretKey, secretKeyCreated, withoutSecret } from './issue.ts'
import { toSecretKey } from './resource.ts'
import {
  endSecretKeyOverlap,
  findSecretKey,
  listSecretKeyRows,
  lockSecretKey,
  revokeSecretKeyRow,
  type SecretKeyRow,
} from './sql.ts'

/** Creates a secret key with the role of its maker. The answer is the only place where it is ever shown. */
export function createSecretKey(
  deps: Deps,
  principal: VendorPrincipal,
  body: SecretKeyCreate,
  replay: ReplayKey | null,
): Promise<Replayable> {
  const work = async (tx: Tx) => {
    const at = deps.clock.now()
    const actor = actorOf(principal)
    const { created, shown } = issueSecretKey(deps, tx, actor, at, {
      env: body.env,
      role: makerRole(principal.role),
      name: body.name ?? null,
      meta: body.meta ?? {},
      expires_at: dateOrNull(body.expires_at),
      rotated_from: null,
    })
    appendAudit(deps, tx, actor, at, [secretKeyCreated(created)])
    return shown
  }
  return mutate(deps.db, principal.workspaceId, replay, 201, work, withoutSecret)
}

/** The gate lets no member here, so that a key is an owner's or an admin's. */
const makerRole = (role: Role) => (role === 'owner' ? 'owner' : 'admin')

export async function getSecretKey({ db }: Deps, principal: VendorPrincipal, id: string): Promise<SecretKey> {
  const row = await db.inWorkspace(principal.workspaceId, tx => findSecretKey(tx, id, visibleEnvs(principal)))
  if (row === null) throw new Refusal('not_found')
  return toSecretKey(row)
}

export interface ListQuery {
  env?: 'live' | 'test'
  include_revoked?: 'true' | 'false'
  limit?: number
  cursor?: string
}

export async function listSecretKeys({ db, cursors }: Deps, principal: VendorPrincipal, query: ListQuery) {
  const { workspaceId } = principal
  const { limit = 50 } = query
  const before = query.cursor === undefined ? null : cursors.open('secret_keys', workspaceId, query.cursor)
  const rows = await db.inWorkspace(workspaceId, tx =>
    listSecretKeyRows(tx, {
      envs: query.env === undefined ? visibleEnvs(principal) : [query.env],
      includeRevoked: query.include_revoked === 'true',
      before,
      limit,
    }),
  )
  return page(rows, limit, toSecretKey, last => cursors.seal('secret_keys', workspaceId, last.id))
}

/**
 * Puts a successor beside a secret key, with its role and settings; the key lives on for the overlap.
 * Rotating takes at least the role of the key, or an admin could make itself an owner.
 */
export function rotateSecretKey(
  deps: Deps,
  principal: VendorPrincipal,
  id: string,
  overlapHours: number,
  replay: ReplayKey | null,
): Promise<Replayable> {
  const work = async (tx: Tx) => {
    const row = await lockSecretKey(tx, id, visibleEnvs(principal))
    if (row === null) throw new Refusal('not_found')
    if (roles.indexOf(principal.role) < roles.indexOf(row.role)) throw new Refusal('owner_required')
    const life = { expiresAt: millisOrNull(row.expires_at), revokedAt: millisOrNull(row.revoked_at) }
    if (!isActive(life, row.now.getTime())) {
      throw new Refusal('key_not_active', 'A revoked or expired secret key cannot be rotated.')
    }
    const at = deps.clock.now()
    const actor = actorOf(principal)
    const endsAt = new Date(overlapEnd(life, row.now.getTime(), overlapHours))
    const { env, role, name, meta } = row
    const expires_at = row.rotated_to === null ? row.expires_at : row.original_expires_at
    const settings = { env, role, name, meta, expires_at, rotated_from: row.id }
    const { created, shown } = issueSecretKey(deps, tx, actor, at, settings)
    endSecretKeyOverlap(tx, row.id, endsAt, created.id, expires_at)
    tx.announce(credentialsTopic)
    const predecessor = { id: row.id, expires_at: iso(endsAt) }
    appendAudit(deps, tx, actor, at, [
      { ...target(row), action: 'secret_key.rotated', payload: { successor: created, predecessor } },
    ])
    return { ...shown, predecessor }
  }
  return mutate(deps.db, principal.workspaceId, replay, 200, work, withoutSecret)
}

/** Ends a secret key for good. It takes no role beyond an editor's: stopping a leak must not wait. */
export function revokeSecretKey(deps: Deps, principal: VendorPrincipal, id: string, reason: string | null) {
  return deps.db.inWorkspace(principal.workspaceId, async tx => {
    const envs = visibleEnvs(principal)
    const found = await findSecretKey(tx, id, envs)
    if (found === null) throw new Refusal('not_found')
    if (found.revoked_at !== null) return toSecretKey(found)
    const row = await revokeOnce(deps, tx, actorOf(principal), id, { reason })
    return toSecretKey(row ?? (await findSecretKey(tx, id, envs)) ?? found)
  })
}

/** Ends a secret key that others can read. @returns false when it was revoked already. */
export const revokeLeakedSecretKey = async (
  deps: Deps,
  tx: Tx,
  actor: Actor,
  id: string,
  place: LeakPlace,
): Promise<boolean> => (await revokeOnce(deps, tx, actor, id, { reason: 'leaked', ...place })) !== null

/** @returns null when somebody was faster: theirs is the revocation, and the only audit row. */
async function revokeOnce(
  deps: Deps,
  tx: Tx,
  actor: Actor,
  id: string,
  payload: { reason: string | null } & Partial<LeakPlace>,
): Promise<SecretKeyRow | null> {
  const at = deps.clock.now()
  const row = await revokeSecretKeyRow(tx, id, new Date(at), payload.reason)
  if (row === null) return null
  tx.announce(credentialsTopic)
  appendAudit(deps, tx, actor, at, [{ ...target(row), action: 'secret_key.revoked', payload }])
  return row
}

const target = (key: Pick<SecretKeyRow, 'id' | 'env'>) => ({
  targetType: 'secret_key' as const,
  targetId: key.id,
  env: key.env,
})
