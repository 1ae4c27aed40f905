import type { OwnSecurityEventList, SecurityEventList } from '@keyrail/contract/security-events'
import type { Deps } from '../deps.ts'
import type { PersonPrincipal, VendorPrincipal } from '../gate/principal.ts'
import { page } from '../platform/cursor.ts'
import { toSecurityEvent } from './resource.ts'
import { listEventRows, listOwnEventRows } from './sql.ts'

/** What happened in the workspace, and to the accounts of its members. */
export async function listSecurityEvents(
  { db, cursors }: Deps,
  { workspaceId }: VendorPrincipal,
  { kind, user_id, limit = 50, cursor }: SecurityEventList,
) {
  const before = cursor === undefined ? null : cursors.open('security_events', workspaceId, cursor)
  const userId = user_id?.toLowerCase() ?? null
  const rows = await db.inWorkspace(workspaceId, tx =>
    listEventRows(tx, { kind: kind ?? null, before, limit }, userId),
  )
  return page(rows, limit, toSecurityEvent, last => cursors.seal('security_events', workspaceId, last.id))
}

/** What happened to one's own account, wherever. */
export async function listOwnSecurityEvents(
  { db, cursors }: Deps,
  { id }: PersonPrincipal,
  { kind, limit = 50, cursor }: OwnSecurityEventList,
) {
  const before = cursor === undefined ? null : cursors.open('own_security_events', id, cursor)
  const rows = await db.asPerson(id, tx => listOwnEventRows(tx, { kind: kind ?? null, before, limit }))
  return page(rows, limit, toSecurityEvent, last => cursors.seal('own_security_events', id, last.id))
}
