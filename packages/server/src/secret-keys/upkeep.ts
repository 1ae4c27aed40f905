import { byEndSql, isLongEndedSql } from '../gate/ended.ts'
import { type Chore, pruneSome, untilNone } from '../platform/db/upkeep.ts'
import { pruneEndingRows } from './ending-sql.ts'

/** Forgets thirty days later what ended with a maker; the audit log keeps it. A leak's letter is sent long before. */
export const pruneEndings: Chore = {
  name: 'ends of makers',
  run: client => untilNone(async () => (await client.query(pruneEndingRows)).rowCount ?? 0),
}

/** A key that made others stays as long as these do: what ends a maker finds them through it. */
const pruneSecretKeyRows = `with old as (
     select k.workspace_id, k.id from secret_keys k
     where ${isLongEndedSql}
       and not exists (select from secret_keys made where made.workspace_id = k.workspace_id
         and made.created_by_type = 'secret_key' and made.created_by_id = k.id::text)
       and not exists (select from endings e
         where e.workspace_id = k.workspace_id and e.maker_type = 'secret_key' and e.maker_id = k.id)
       and not exists (select from leak_reports l where l.workspace_id = k.workspace_id and l.credential_id = k.id)
     order by ${byEndSql} limit $1 for update of k skip locked
   ), credential as (
     delete from credentials c using old where c.workspace_id = old.workspace_id and c.kind = 'secret_key' and c.id = old.id
   )
   delete from secret_keys k using old where k.workspace_id = old.workspace_id and k.id = old.id`

/** Deletes secret keys ninety days after they were revoked or expired. The audit log keeps what happened to them. */
export const pruneEndedSecretKeys: Chore = {
  name: 'ended secret keys',
  run: client => pruneSome(client, pruneSecretKeyRows),
}
