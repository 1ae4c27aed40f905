import type pg from 'pg'

/** What a Postgres reports of itself and of the logged-in user. */
export interface ServerFacts {
  /** For example `15.14`. */
  version: string
  major: number
  isStandby: boolean
  /** The server's clock when it answered. */
  clock: Date
  user: string
  database: string
  mayCreateRoles: boolean
}

export const postgresMajorMin = 15

export async function readServerFacts(client: pg.ClientBase): Promise<ServerFacts> {
  const { rows } = await client.query(
    `select current_setting('server_version') as version, current_setting('server_version_num')::int / 10000 as major,
       pg_is_in_recovery() as "isStandby", clock_timestamp() as clock, current_user as "user", current_database() as database,
       (select rolsuper or rolcreaterole from pg_roles where rolname = current_user) as "mayCreateRoles"`,
  )
  const [facts] = rows as [ServerFacts]
  // Packages add their origin: `15.14 (Debian 15.14-0+deb12u1)`.
  return { ...facts, version: facts.version.split(' ')[0] ?? facts.version }
}
