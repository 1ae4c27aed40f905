import type { TenantUpdate } from '@keyrail/contract/vendor/tenants'
import { type Actor, appendAudit } from '../audit/append.ts'
import { changesOf } from '../audit/changes.ts'
import type { CommonNeeds } from '../gate/common-needs.ts'
import type { Tx } from '../platform/db/transaction.ts'
import { readNetworks } from '../platform/network/read-networks.ts'
import { Refusal } from '../platform/refusal.ts'
import { noteTenantChange, noteTenantNetworks } from '../policy/changes.ts'
import { toTarget, toTenant } from './resource.ts'
import { lockTenant, type TenantRow, updateTenantRow } from './sql.ts'

/** Replaces the fields that the body names. Nodes receive the change, since they show the tenant of a key and its networks. */
export async function changeTenant(
  deps: Pick<CommonNeeds, 'clock' | 'randomBytes'>,
  tx: Tx,
  actor: Actor,
  id: string,
  body: TenantUpdate,
): Promise<TenantRow> {
  const networks = body.allowed_cidrs && readNetworks(body.allowed_cidrs)
  const row = await lockTenant(tx, id)
  if (row === null) throw new Refusal('not_found')
  const at = deps.clock.now()
  const next: TenantRow = {
    ...row,
    ...(body.name !== undefined && { name: body.name }),
    ...(body.meta !== undefined && { meta: body.meta }),
    ...(networks !== undefined && { allowed_cidrs: networks }),
    ...(body.delete_protection !== undefined && { delete_protection: body.delete_protection }),
    updated_at: new Date(at),
  }
  const changes = changesOf(toTenant(row), toTenant(next))
  if (Object.keys(changes).length === 0) return row
  updateTenantRow(tx, next)
  const isRestricted = ({ allowed_cidrs }: TenantRow) => allowed_cidrs.length > 0
  // Nodes do not see the protection.
  if (Object.keys(changes).some(name => name !== 'delete_protection'))
    await (isRestricted(row) === isRestricted(next) ? noteTenantChange(tx, id) : noteTenantNetworks(tx, id))
  appendAudit(deps, tx, actor, at, [{ ...toTarget(id), action: 'tenant.updated', payload: changes }])
  return next
}
