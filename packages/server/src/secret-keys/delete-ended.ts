import type { EndedKeysDeleted, EndedSecretKeysQuery } from '@keyrail/contract/vendor/ended'
import { actorOf, appendAudit } from '../audit/append.ts'
import type { Caller } from '../gate/caller.ts'
import { countByEnv } from '../keys/cascade.ts'
import { deleteEndedSecretKeys, findEndedSecretKeys } from './ended-sql.ts'
import type { EndNeeds } from './ending.ts'

/** How many secret keys one call deletes, in one transaction. Each takes a lock, of which Postgres has a few thousand. */
const batchMax = 200

/**
 * Deletes a batch of secret keys that are revoked or expired. An owner uses it to make space, and may delete keys of other
 * makers too.
 */
export function deleteEnded(
  { deps, db, principal }: Caller<EndNeeds>,
  query: EndedSecretKeysQuery,
): Promise<EndedKeysDeleted> {
  const { workspaceId } = principal
  const env = query.env ?? null
  return db.inWorkspace(workspaceId, async tx => {
    const ids = await findEndedSecretKeys(tx, env, batchMax)
    const deleted = ids.length === 0 ? [] : await deleteEndedSecretKeys(tx, ids)
    if (deleted.length > 0) {
      appendAudit(deps, tx, actorOf(principal), deps.clock.now(), [
        {
          action: 'secret_key.ended_deleted',
          targetType: 'workspace',
          targetId: workspaceId,
          env,
          payload: { keys_deleted: countByEnv(deleted) },
        },
      ])
    }
    return { object: 'ended_keys_deletion', deleted: deleted.length, has_more: deleted.length > 0 }
  })
}
