import { sql } from '../platform/db/connection.ts'
import type { Tx } from '../platform/db/transaction.ts'

/**
 * The first maker of a line of secret keys is a person or the operator. If that person's account, or a key in between, does not
 * exist any more, the oldest owner stands for the key.
 */
const findPersonBehind = sql(
  'people.find_person_behind',
  `with recursive line (type, maker, depth) as (
     select created_by_type, created_by_id, 1 from secret_keys where workspace_id = $1 and id = $2
     union all
     select k.created_by_type, k.created_by_id, l.depth + 1 from line l join secret_keys k
       on k.workspace_id = $1 and k.id = case l.type when 'secret_key' then l.maker::uuid end
     where l.depth < 10000
   ), oldest as (
     select user_id from workspace_members
     where workspace_id = $1 and role = 'owner' and removed_at is null order by joined_at, user_id limit 1
   )
   select u.id, u.email_verified_at is not null as "isVerified" from users u
   where not exists (select from line where type in ('bootstrap', 'operator')) and u.id = coalesce(
     (select m.id from line l join users m on m.id = case l.type when 'user' then l.maker::uuid end),
     (select user_id from oldest))`,
)
/** @returns null for a key of the operator. */
export async function readPersonBehind(
  tx: Tx,
  secretKeyId: string,
): Promise<{ id: string; isVerified: boolean } | null> {
  const [row] = await tx.query<{ id: string; isVerified: boolean }>(findPersonBehind, [
    tx.workspaceId,
    secretKeyId,
  ])
  return row ?? null
}
