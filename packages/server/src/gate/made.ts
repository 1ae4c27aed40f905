/**
 * The head of a statement, with the ids of all keys that descend from the maker with type $2 and id $3 in workspace $1, as
 * `made`. Revoked and expired ones too, since they may have made others.
 */
export const keysMadeSql = `with recursive made(id) as (
     select id from secret_keys where workspace_id = $1 and created_by_type = $2 and created_by_id = $3
     union
     select id from secret_keys where $2 = 'session' and workspace_id = $1 and created_in_session = $3::uuid
     union
     select k.id from made m join secret_keys k
       on k.workspace_id = $1 and k.created_by_type = 'secret_key' and k.created_by_id = m.id::text
   )`
