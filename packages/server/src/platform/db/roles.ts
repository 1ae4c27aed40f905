import type pg from 'pg'

/**
 * The role that every request's transaction drops to. It owns nothing and cannot log in; the role that
 * the service logs in with owns the tables and is a member of it.
 */
export const rolesSql = `create role keyrail_app nologin noinherit;
grant keyrail_app to current_user;`

/** Codes of two processes doing the same at once: duplicate object, unique violation, tuple updated meanwhile. */
const races = new Set(['42710', '23505', 'XX000'])

/**
 * Makes sure that the role exists and that we may become it. Roles belong to the whole cluster, so several
 * databases may do this at once.
 * @throws with the SQL for an operator to run, where the login role may not create roles.
 */
export async function ensureRoles(client: pg.ClientBase): Promise<void> {
  for (const step of rolesSql.split('\n')) {
    if (await rolesReady(client)) return
    await client.query(step).catch(error => {
      if (races.has(error.code)) return
      if (error.code !== '42501') throw error
      throw new Error(`The database user may not create roles. Let an operator run once:\n\n${rolesSql}\n`, {
        cause: error,
      })
    })
  }
  if (!(await rolesReady(client)))
    throw new Error(`The role keyrail_app is missing. Run once:\n\n${rolesSql}\n`)
}

/** Whether `keyrail_app` exists and the current user is a member of it. */
export async function rolesReady(client: pg.ClientBase): Promise<boolean> {
  const { rows } = await client.query(
    `select pg_has_role(current_user, r.oid, 'member') as ready from pg_roles r where r.rolname = 'keyrail_app'`,
  )
  return rows[0]?.ready === true
}
