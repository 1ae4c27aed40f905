import type { OwnSecurityEventList, SecurityEventList } from '@keyrail/contract/security-events'
import type { PersonPrincipal, VendorPrincipal } from '../gate/principal.ts'
import { page } from '../platform/cursor.ts'
import type { Db } from '../platform/db/db.ts'
import type { SecurityEventNeeds } from './needs.ts'
import { toSecurityEvent } from './resource.ts'
import { listEventRows, listOwnEventRows } from './sql.ts'

/** Security events of the workspace and of the accounts of its members. */
export async function listSecurityEvents(
  { cursors }: SecurityEventNeeds,
  db: Db,
  { workspaceId }: VendorPrincipal,
  { kind, user_id, limit, cursor }: SecurityEventList,
) {
  const before = cursor === undefined ? null : cursors.open('security_events', workspaceId, cursor)
  const userId = user_id?.toLowerCase() ?? null
  const rows = await db.readAtOnce(workspaceId, tx =>
    listEventRows(tx, { kind: kind ?? null, before, limit }, userId),
  )
  return page(rows, limit, toSecurityEvent, last => cursors.seal('security_events', workspaceId, last.id))
}

/** Security events of the person's own account, in any workspace. */
export async function listOwnSecurityEvents(
  { cursors }: SecurityEventNeeds,
  db: Db,
  { id }: PersonPrincipal,
  { kind, limit, cursor }: OwnSecurityEventList,
) {
  const before = cursor === undefined ? null : cursors.open('own_security_events', id, cursor)
  const rows = await db.asPerson(id, tx => listOwnEventRows(tx, { kind: kind ?? null, before, limit }))
  return page(rows, limit, toSecurityEvent, last => cursors.seal('own_security_events', id, last.id))
}
