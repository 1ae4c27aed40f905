/**
 * Who the service is in Postgres. `roles.ts` makes the role of requests, `service-rights.ts` gives a login its rights,
 * `server-facts.ts` and `outside-facts.ts` are what a server reports, `session-pooling.ts` finds a pooler.
 */

import pg from 'pg'

/**
 * SQL for an operator to run if the service's own user may not create roles. It makes the role that every
 * request's transaction drops to, which owns nothing and cannot log in; the role that the service logs in with
 * owns the tables and may become it.
 * @param user the role that the service logs in with.
 */
export const rolesSql = (user: string) => `create role keyrail_app nologin noinherit;
grant keyrail_app to ${pg.escapeIdentifier(user)};`

/** Errors of two processes that make the role at once: duplicate object, unique violation, tuple updated concurrently. */
const races = new Set(['42710', '23505', 'XX000'])

/**
 * Makes sure that the role exists and that this user may become it. Roles belong to the whole cluster, so the services of
 * several databases may do this at once.
 * @throws with the SQL for an operator to run if the login role may not create roles.
 */
export async function ensureRoles(client: pg.ClientBase): Promise<void> {
  const { rows } = await client.query('select current_user as name')
  const steps = rolesSql(rows[0].name)
  for (const step of steps.split('\n')) {
    if (await rolesReady(client)) return
    await client.query(step).catch(error => {
      if (races.has(error.code)) return
      if (error.code !== '42501') throw error
      throw new Error(
        `The database user may not create roles. Have an operator run this once:\n\n${steps}\n`,
        {
          cause: error,
        },
      )
    })
  }
  if (!(await rolesReady(client)))
    throw new Error(`The role keyrail_app is missing. Have an operator run this once:\n\n${steps}\n`)
}

/**
 * Whether `keyrail_app` exists and the current user may become it. Since Postgres 16 membership is not enough: the creator of a
 * role is a member, but may only administer the role.
 */
export async function rolesReady(client: pg.ClientBase): Promise<boolean> {
  const { rows } = await client.query(
    `select pg_has_role(current_user, r.oid,
       case when current_setting('server_version_num')::int < 160000 then 'member' else 'set' end) as ready
     from pg_roles r where r.rolname = 'keyrail_app'`,
  )
  return rows[0]?.ready === true
}
