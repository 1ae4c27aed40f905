const or = `
     union
     select id from secret_keys where workspace_id = $1 and `
/**
 * The head of a statement, with the ids of the first keys and of all that descend from them, as `made`. Revoked and expired ones
 * too, since they may have made others.
 * @param first the conditions for the first ones; each can use another index.
 */
const below = (...first: string[]): string => `with recursive made(id) as (
     select id from secret_keys where workspace_id = $1 and ${first.join(or)}
     union
     select k.id from made m join secret_keys k
       on k.workspace_id = $1 and k.created_by_type = 'secret_key' and k.created_by_id = m.id::text
   )`

/** The ids of all keys that descend from the maker with type $2 and id $3 in workspace $1. */
export const keysMadeSql = below(
  'created_by_type = $2 and created_by_id = $3',
  `$2 = 'session' and created_in_session = $3::uuid`,
)

/** The same for a person or a secret key, whichever has the id. */
export const keysMadeByIdSql = (id: `$${number}`): string =>
  below(`created_by_type in ('user', 'secret_key') and created_by_id = ${id}::text`)
