import type { AuditLogList } from '@keyrail/contract/vendor/audit'
import type { Caller } from '../gate/caller.ts'
import { isUuid } from '../platform/http/validate.ts'
import { page } from '../platform/paging/cursor.ts'
import { invalidField } from '../platform/refusal.ts'
import { dateOrNull } from '../platform/time.ts'
import { listAuditRows } from './list-sql.ts'
import type { AuditNeeds } from './needs.ts'
import { toAuditLog } from './resource.ts'

/** A page of the log. A cursor fits only lists of its order. */
export async function listAuditLogs(
  { deps: { cursors }, db, principal }: Caller<Pick<AuditNeeds, 'cursors'>>,
  query: AuditLogList,
) {
  const { workspaceId, reach } = principal
  const { order = 'asc', limit, cursor, action, actor_id, target_id, env } = query
  const { created_after, created_before } = query
  const list = order === 'asc' ? 'audit_logs' : 'audit_logs.desc'
  const start = startOf(query)
  const rows = await db.readAtOnce(workspaceId, tx =>
    listAuditRows(tx, {
      reach,
      order,
      beyond: cursor === undefined ? start : Number(cursors.open(list, workspaceId, cursor)),
      limit,
      action: action ?? null,
      // Ids of rows are stored in lower case.
      actorId: actor_id === undefined ? null : isUuid(actor_id) ? actor_id.toLowerCase() : actor_id,
      targetId: target_id ?? null,
      env: env ?? null,
      from: dateOrNull(created_after ?? null),
      before: dateOrNull(created_before ?? null),
    }),
  )
  return page(
    rows,
    limit,
    row => toAuditLog(workspaceId, principal, row),
    last => cursors.seal(list, workspaceId, String(last.seq)),
  )
}

/**
 * The seq beyond which the list begins.
 * @throws {Refusal} when the query names the bound of the other order.
 */
function startOf({ order, after_seq, before_seq }: AuditLogList): number {
  if (order === 'desc') {
    if (after_seq !== undefined) throw invalidField('after_seq', 'must not be given with order=desc')
    return before_seq ?? Number.MAX_SAFE_INTEGER
  }
  if (before_seq !== undefined) throw invalidField('before_seq', 'needs order=desc')
  return after_seq ?? 0
}
