import type { CreatedSecretKey } from '@keyrail/contract/vendor/secret-keys'
import type { Tx } from '../platform/db/transaction.ts'
import type { Client } from '../platform/http/client.ts'
import type { RefusedCaller } from '../platform/refusal.ts'
import { eventActor, type NewEvent, personOf } from './event.ts'
import { type RecordNeeds, recordEvent } from './record.ts'
import { queueLettersToOwners } from './sql.ts'

/** The actor of a change and its client; `client` is null for the operator, who sends no request. */
export interface Doer {
  readonly caller: Pick<RefusedCaller, 'kind' | 'id'>
  readonly client: Client | null
}

/** Mails every other owner that a member has become an owner, in the transaction of the change. */
export function notifyOfOwner(deps: RecordNeeds, tx: Tx, doer: Doer, memberId: string): void {
  notify(deps, tx, doer, 'owner_added', { member_id: memberId }, memberId)
}

/** With one of these permissions an owner's key can remove people, or rotate itself out of sight. */
const takingOver = new Set(['members:write', 'secret_keys:write'])

/**
 * Mails every owner that a new key has an owner's rights. A key that is bound to projects, works in test only, or lacks
 * the permissions to change access to the workspace has fewer rights and causes no mail.
 */
export function notifyOfOwnerKey(deps: RecordNeeds, tx: Tx, doer: Doer, key: CreatedSecretKey): void {
  const { id, role, env, permissions, project_ids, rotated_from } = key
  const canTakeOver = permissions === null || permissions.some(one => takingOver.has(one))
  if (role !== 'owner' || env !== 'live' || !canTakeOver || project_ids !== null) return
  notify(deps, tx, doer, 'owner_key_created', { secret_key_id: id, rotated_from }, null)
}

function notify(
  deps: RecordNeeds,
  tx: Tx,
  { caller, client }: Doer,
  kind: 'owner_added' | 'owner_key_created',
  details: NewEvent['details'] & object,
  but: string | null,
): void {
  const who = { ...caller, workspaceId: tx.workspaceId }
  const event = {
    kind,
    workspaceId: tx.workspaceId,
    userId: personOf(who),
    actor: eventActor(who),
    client,
    details,
  }
  queueLettersToOwners(tx, kind, recordEvent(deps, tx, event), but)
}
