import type {
  OwnSecurityEventList,
  SecurityEvent,
  SecurityEventList,
} from '@keyrail/contract/security-events'
import type { Caller } from '../gate/caller.ts'
import type { PersonPrincipal } from '../gate/principal.ts'
import { lowestIdAt } from '../platform/ids.ts'
import { page } from '../platform/paging/cursor.ts'
import { iso } from '../platform/time.ts'
import { nowhere } from './event.ts'
import type { SecurityEventNeeds } from './needs.ts'
import { type EventRow, listEventRows, listOwnEventRows, type Wanted } from './sql.ts'

const toSecurityEvent = (row: EventRow): SecurityEvent => ({
  object: 'security_event',
  id: row.id,
  kind: row.kind,
  workspace_id: row.workspace_id === nowhere ? null : row.workspace_id,
  user_id: row.user_id,
  actor_type: row.actor_type as SecurityEvent['actor_type'],
  actor_id: row.actor_id,
  ip: row.ip,
  user_agent: row.user_agent,
  count: row.count,
  details: row.details,
  last_at: iso(row.last_at),
  created_at: iso(row.created_at),
})

/** Security events of the workspace and of the accounts of its members. */
export async function listSecurityEvents(
  { deps: { cursors }, db, principal: { workspaceId } }: Caller<SecurityEventNeeds>,
  query: SecurityEventList,
) {
  const { limit, cursor } = query
  const before = cursor === undefined ? null : cursors.open('security_events', workspaceId, cursor)
  const userId = query.user_id?.toLowerCase() ?? null
  const rows = await db.readAtOnce(workspaceId, tx => listEventRows(tx, wantedOf(query, before), userId))
  return page(rows, limit, toSecurityEvent, last => cursors.seal('security_events', workspaceId, last.id))
}

/** Security events of the person's own account, in any workspace. */
export async function listOwnSecurityEvents(
  { deps: { cursors }, db, principal: { id } }: Caller<SecurityEventNeeds, PersonPrincipal>,
  query: OwnSecurityEventList,
) {
  const { limit, cursor } = query
  const before = cursor === undefined ? null : cursors.open('own_security_events', id, cursor)
  const rows = await db.asPerson(id, tx => listOwnEventRows(tx, wantedOf(query, before)))
  return page(rows, limit, toSecurityEvent, last => cursors.seal('own_security_events', id, last.id))
}

/** @param before the id at which the last page ended. */
function wantedOf(
  { kind, created_after, created_before, limit }: OwnSecurityEventList,
  before: string | null,
): Wanted {
  const from = created_after === undefined ? null : lowestIdAt(Date.parse(created_after))
  const end = created_before === undefined ? null : lowestIdAt(Date.parse(created_before))
  return {
    kind: kind ?? null,
    from,
    before: before !== null && (end === null || before < end) ? before : end,
    limit,
  }
}
