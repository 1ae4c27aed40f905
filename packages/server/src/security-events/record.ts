import type { Deps } from '../deps.ts'
import type { Transaction } from '../platform/db/transaction.ts'
import { type NewEvent, nowhere } from './event.ts'
import { insertEvent } from './sql.ts'

/**
 * Writes an event down in the transaction of the change that it tells of, so that there is one exactly when there is
 * the other. @param device of a sign-in.
 * @returns its id.
 */
export function recordEvent(
  { clock, makeId }: Pick<Deps, 'clock' | 'makeId'>,
  tx: Transaction,
  event: NewEvent,
  device: Buffer | null = null,
): string {
  const at = new Date(clock.now())
  const id = makeId()
  insertEvent(tx, {
    workspace_id: event.workspaceId ?? nowhere,
    id,
    kind: event.kind,
    user_id: event.userId,
    actor_type: event.actor?.type ?? null,
    actor_id: event.actor?.id ?? null,
    ip: event.client?.ip ?? null,
    user_agent: event.client?.userAgent ?? null,
    count: 1,
    details: { ...event.details },
    device,
    created_at: at,
    last_at: at,
  })
  return id
}
