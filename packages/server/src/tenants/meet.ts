import type { TenantCreate } from '@keyrail/contract/vendor/tenants'
import { type Actor, appendAudit, type Entry } from '../audit/append.ts'
import type { CommonNeeds } from '../gate/common-needs.ts'
import type { Tx } from '../platform/db/transaction.ts'
import { readNetworks } from '../platform/network/read-networks.ts'
import { Refusal } from '../platform/refusal.ts'
import { toTarget, toTenant } from './resource.ts'
import { findTenantsByExternalId, insertMetTenant, lockMeetings, type TenantRow } from './sql.ts'

/** How many tenants the mints of a workspace may create in any 60 seconds. */
export const metAMinute = 300

export type MeetNeeds = Pick<CommonNeeds, 'clock' | 'makeId' | 'randomBytes'>

/**
 * Returns the tenant with this external id, and creates it if there is none. Simultaneous
 * requests create it once. The vendor's customers decide how often this creates tenants, so there is a limit per minute; it
 * applies exactly, since these requests run one at a time.
 */
export async function meetTenant(
  deps: MeetNeeds,
  tx: Tx,
  actor: Actor,
  body: TenantCreate,
): Promise<TenantRow> {
  const [found, { met, free_in_ms }] = await lockMeetings(tx, body.external_id, metAMinute)
  if (found !== null) return found
  if (met >= metAMinute) {
    throw new Refusal(
      'too_many_requests',
      `Embed tokens can create ${metAMinute} tenants a minute in a workspace.`,
      { headers: { 'retry-after': String(Math.max(1, Math.ceil((free_in_ms ?? 0) / 1_000))) } },
    )
  }
  const at = deps.clock.now()
  const row = toNewTenant(deps.makeId(), at, body)
  if (await insertMetTenant(tx, row)) {
    appendAudit(deps, tx, actor, at, [tenantCreated(row)])
    return row
  }
  // `POST /v1/tenants` has created it meanwhile. If it is deleted again, the caller can simply repeat the request.
  const [created] = await findTenantsByExternalId(tx, body.external_id)
  if (created === undefined) throw new Refusal('unavailable')
  return created
}

export const toNewTenant = (id: string, at: number, body: TenantCreate): TenantRow => ({
  id,
  external_id: body.external_id,
  name: body.name ?? null,
  meta: body.meta ?? {},
  allowed_cidrs: readNetworks(body.allowed_cidrs ?? []),
  embed_epoch: 1,
  delete_protection: body.delete_protection ?? false,
  suspended_at: null,
  suspended_reason: null,
  created_at: new Date(at),
  updated_at: new Date(at),
})

export const tenantCreated = (row: TenantRow): Entry => ({
  ...toTarget(row.id),
  action: 'tenant.created',
  payload: { ...toTenant(row) },
})
