import { byEndSql, isLongEndedSql } from '../gate/ended.ts'
import { type Chore, pruneSome } from '../platform/db/upkeep.ts'

/**
 * The credential goes with the key. Nothing names a key that ended so long ago, except a change of its row for nodes, or a
 * leak, of late.
 */
const pruneKeyRows = `with old as (
     select k.workspace_id, k.id, k.lookup_hash from api_keys k
     where ${isLongEndedSql} and not exists (select from policy_changes c
         where c.workspace_id = k.workspace_id and c.project_id = k.project_id and c.key_id = k.id)
       and not exists (select from leak_reports l where l.workspace_id = k.workspace_id and l.credential_id = k.id)
     order by ${byEndSql} limit $1 for update of k skip locked
   ), credential as (
     delete from credentials c using old where c.digest = old.lookup_hash
   )
   delete from api_keys k using old where k.workspace_id = old.workspace_id and k.id = old.id`

/** Deletes keys ninety days after they were revoked or expired. The audit log keeps what happened to them. */
export const pruneEndedKeys: Chore = { name: 'ended keys', run: client => pruneSome(client, pruneKeyRows) }
