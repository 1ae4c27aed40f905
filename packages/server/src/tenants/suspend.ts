import type { SettledTenant } from '@keyrail/contract/vendor/tenants'
import { actorOf, appendAudit } from '../audit/append.ts'
import type { Caller } from '../gate/caller.ts'
import { endRights } from '../platform/db/right.ts'
import { Refusal } from '../platform/refusal.ts'
import { noteTenantSuspension, suspensionVersionsOf } from '../policy/changes.ts'
import { awaitFleets } from '../policy/propagation.ts'
import type { TenantNeeds } from './needs.ts'
import { toTarget, toTenant } from './resource.ts'
import { lockTenant, setSuspension, type TenantRow } from './sql.ts'

/** A suspension changes no row of a key. Nodes, verdicts by HTTP and the gate of embed tokens judge by the tenant. */

/**
 * Suspends a tenant: all of its keys are refused. Writes with its embed tokens that have begun are done before, and later ones
 * are refused. A repeat keeps the time and the reason.
 * @param wait the signal that fires when the client disconnects: after the commit, wait until the nodes have the change. null
 *   does not wait.
 */
export const suspendTenant = (
  caller: Caller<TenantNeeds>,
  id: string,
  reason: string | null,
  wait: AbortSignal | null,
): Promise<SettledTenant> =>
  settle(caller, id, wait, (row, at) =>
    row.suspended_at === null ? { ...row, suspended_at: at, suspended_reason: reason } : row,
  )

/** Resumes a tenant: its keys are what they were. */
export const resumeTenant = (
  caller: Caller<TenantNeeds>,
  id: string,
  wait: AbortSignal | null,
): Promise<SettledTenant> =>
  settle(caller, id, wait, row =>
    row.suspended_at === null ? row : { ...row, suspended_at: null, suspended_reason: null },
  )

/** @param change the row as it shall be; the same row: there is nothing to do. */
async function settle(
  { deps, db, principal }: Caller<TenantNeeds>,
  id: string,
  wait: AbortSignal | null,
  change: (row: TenantRow, at: Date) => TenantRow,
): Promise<SettledTenant> {
  const { workspaceId } = principal
  const { row, versions } = await db.inWorkspace(workspaceId, async tx => {
    endRights(tx, [id])
    const found = await lockTenant(tx, id)
    if (found === null) throw new Refusal('not_found')
    const at = new Date(deps.clock.now())
    const next = change(found, at)
    if (next === found) return { row: found, versions: wait && (await suspensionVersionsOf(tx, id)) }
    const row = { ...next, updated_at: at }
    setSuspension(tx, row)
    await noteTenantSuspension(tx, id)
    const versions = wait && (await suspensionVersionsOf(tx, id))
    appendAudit(deps, tx, actorOf(principal), at.getTime(), [
      row.suspended_at === null
        ? { ...toTarget(id), action: 'tenant.resumed', payload: {} }
        : { ...toTarget(id), action: 'tenant.suspended', payload: { reason: row.suspended_reason } },
    ])
    return { row, versions }
  })
  if (wait === null || versions === null) return toTenant(row)
  const questions = versions.map(one => ({ workspaceId, ...one }))
  return { ...toTenant(row), propagation: await awaitFleets(deps, questions, wait) }
}
