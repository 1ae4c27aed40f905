import type { CreatedSecretKey } from '@keyrail/contract/vendor/secret-keys'
import type { Deps } from '../deps.ts'
import type { Tx } from '../platform/db/transaction.ts'
import type { Client } from '../platform/http/client.ts'
import type { Caller } from '../platform/refusal.ts'
import { eventActor, type NewEvent, personOf } from './event.ts'
import { recordEvent } from './record.ts'
import { queueLettersToOwners } from './sql.ts'

/** Who did it, and from where; `client` is null for the operator, who sends no request. */
export interface Doer {
  readonly caller: Pick<Caller, 'kind' | 'id'>
  readonly client: Client | null
}

type Means = Pick<Deps, 'clock' | 'makeId'>

/** Writes to every owner, in the transaction of the change, that there is another one. They are not written to themselves. */
export function tellOfOwner(deps: Means, tx: Tx, doer: Doer, memberId: string): void {
  tell(deps, tx, doer, 'owner_added', { member_id: memberId }, memberId)
}

/** With one of these an owner's key can remove people, or make itself successors that nobody has listed. */
const takingOver = new Set(['members:write', 'secret_keys:write'])

/**
 * Writes to every owner that there is another key with an owner's rights. A key has less when it is bound to projects,
 * reaches test alone, or lacks the permissions to change who may act in the workspace: no letter tells of that.
 */
export function tellOfOwnerKey(deps: Means, tx: Tx, doer: Doer, key: CreatedSecretKey): void {
  const { id, role, env, permissions, project_ids, rotated_from } = key
  const canTakeOver = permissions === null || permissions.some(one => takingOver.has(one))
  if (role !== 'owner' || env !== 'live' || !canTakeOver || project_ids !== null) return
  tell(deps, tx, doer, 'owner_key_created', { secret_key_id: id, rotated_from }, null)
}

function tell(
  deps: Means,
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
