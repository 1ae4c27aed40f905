import type pg from 'pg'

/** The schema of Keyrail's tables. Functions of the migrations name it, and a backup has its contents. */
const ownSchema = 'public'

/**
 * Why new tables would come into another schema, and what to do about it; null: they come into `public`. The settings of a
 * database, role or URL can lead elsewhere, and so does the default path if there is a schema named like the user. The search
 * path stays as an operator has set it: no connection overrides a path in the URL.
 */
export async function schemaElsewhere(
  client: pg.ClientBase,
): Promise<{ reason: string; todo: string } | null> {
  const { rows } = await client.query(
    `select current_schema()::text as schema, current_setting('search_path') as path,
       quote_ident(current_user) as "user", quote_ident(current_database()) as database`,
  )
  const [{ schema, path, user, database }] = rows
  if (schema === ownSchema) return null
  const where = schema === null ? 'to no schema that exists' : `to the schema ${schema}`
  return {
    reason: `the search_path of this login (${path === '' ? 'empty' : path}) leads ${where}, and Keyrail’s tables are in ${ownSchema}`,
    todo:
      'Keyrail needs a database that it shares with no other application. Have an operator run this once, and remove ' +
      `search_path from the URL if it has one:\nalter role ${user} in database ${database} set search_path = ${ownSchema};`,
  }
}
