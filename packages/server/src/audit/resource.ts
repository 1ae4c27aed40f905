import type { AuditLog } from '@keyrail/contract/vendor/audit'
import type { Principal } from '../gate/principal.ts'
import { iso } from '../platform/time.ts'
import { addressPaths } from './actions.ts'
import { placeOf } from './address-place.ts'
import type { AuditRow } from './sql.ts'

/** Target types whose payload a test credential may see: the state of the product, without data about people. */
const productState = new Set(['api_key', 'secret_key', 'project', 'tenant'])

/** An audit row as the API returns it to this principal. */
export function toAuditLog(workspaceId: string, { reach, role }: Principal, row: AuditRow): AuditLog {
  const withheld = reach === 'test' && !productState.has(row.target_type)
  return {
    object: 'audit_log',
    id: String(row.seq),
    seq: row.seq,
    workspace_id: workspaceId,
    action: row.action,
    actor_type: row.actor_type,
    actor_id: row.actor_id,
    ...(row.person !== null && { actor: row.person }),
    ...(row.secret_key && { actor_secret_key: row.secret_key }),
    ...(row.tenant && { actor_tenant: row.tenant }),
    // Only owners see the address from which a colleague works, as in the security events.
    ...(row.ip !== null && role === 'owner' && { ip: row.ip }),
    target_type: row.target_type,
    target_id: row.target_id,
    env: row.env,
    payload: withheld ? null : payloadFor(reach, row),
    prev_hash: row.prev_hash.toString('hex'),
    hash: row.hash.toString('hex'),
    created_at: iso(row.created_at),
  }
}

/** The payload with the addresses that are not erased, each beside its hash and with its salt. */
function payloadFor(reach: Principal['reach'], row: AuditRow): Record<string, unknown> {
  const payload = JSON.parse(row.payload) as Record<string, unknown>
  for (const { path, address, salt } of row.addresses ?? []) {
    if (!addressPaths[row.action]?.includes(path)) continue
    const place = placeOf(payload, path)
    if (place === null) continue
    const { holder, name } = place
    holder[name] = address
    holder[`${name}_salt`] = salt
  }
  const counts = payload.keys_revoked as Record<string, number> | undefined
  // A test credential must not learn the number of live keys.
  if (reach === 'test' && counts !== undefined) payload.keys_revoked = { test: counts.test }
  return payload
}
