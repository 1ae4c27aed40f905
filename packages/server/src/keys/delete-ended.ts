import type { EndedKeysDeleted, EndedKeysQuery } from '@keyrail/contract/vendor/ended'
import { actorOf, appendAudit } from '../audit/append.ts'
import type { Caller } from '../gate/caller.ts'
import { countByEnv } from './cascade.ts'
import { deleteEndedKeys, findEndedKeys } from './ended-sql.ts'
import type { RevokeNeeds } from './needs.ts'

/** How many keys one call deletes, in one transaction. */
const batchMax = 500

/**
 * Deletes a batch of keys that are revoked or expired. An owner uses it to make space, and may delete keys of other makers too.
 */
export function deleteEnded(
  { deps, db, principal }: Caller<RevokeNeeds>,
  query: EndedKeysQuery,
): Promise<EndedKeysDeleted> {
  const { workspaceId } = principal
  return db.inWorkspace(workspaceId, async tx => {
    const { env = null, project_id = null, tenant_id = null } = query
    const ids = await findEndedKeys(tx, { env, projectId: project_id, tenantId: tenant_id }, batchMax)
    const deleted = ids.length === 0 ? [] : await deleteEndedKeys(tx, ids)
    if (deleted.length > 0) {
      const filters = { project_id, tenant_id }
      appendAudit(deps, tx, actorOf(principal), deps.clock.now(), [
        {
          action: 'api_key.ended_deleted',
          targetType: 'workspace',
          targetId: workspaceId,
          env,
          payload: { ...filters, keys_deleted: countByEnv(deleted) },
        },
      ])
    }
    return { object: 'ended_keys_deletion', deleted: deleted.length, has_more: deleted.length > 0 }
  })
}
