import pg from 'pg'
import { migrationsTable } from '../migrate/table.ts'
import { rolesSql } from './roles.ts'

/** Members of this role serve requests without owning the tables. */
const serviceRole = 'keyrail_serve'

/** Two logins for one database. */
export interface Logins {
  readonly owner: string
  readonly service: string
  readonly database: string
}

/**
 * SQL for an operator, who may create roles: a login that owns the tables and migrates, and a login that serves. Neither has a
 * password yet. `keyrail migrate` gives the second login its rights.
 */
export function loginsSql({ owner, service, database }: Logins): string {
  const [ownerName, serviceName, databaseName] = [owner, service, database].map(pg.escapeIdentifier)
  return `create role ${ownerName} login;
create role ${serviceName} login;
create database ${databaseName} owner ${ownerName};
${rolesSql(owner)}
create role ${serviceRole} nologin;
grant keyrail_app, ${serviceRole} to ${serviceName};`
}

/** The statements that give the service's role its missing rights; none if there is no role, or this login may not give them. */
export async function missingRights(client: pg.ClientBase): Promise<string[]> {
  const { rows: found } = await client.query(
    `select coalesce(has_function_privilege(to_regprocedure('service_rights()'), 'execute'), false) as there`,
  )
  if (!found[0].there) return []
  const { rows } = await client.query('select service_rights() as statement')
  return rows.map(({ statement }) => statement)
}

/** Each statement commits by itself, unless the caller has opened a transaction. */
export async function grantServiceRights(client: pg.ClientBase): Promise<void> {
  for (const statement of await missingRights(client)) await client.query(statement)
}

/**
 * @returns the role that owns the tables; null if this login has its rights. Before there is a table, a login that is only to
 * serve learns who owns the database: with a grant on the database, it would come to own the tables.
 */
export async function foreignOwner(client: pg.ClientBase): Promise<string | null> {
  const { rows } = await client.query(
    `select quote_ident(r.rolname) as owner from pg_class c join pg_roles r on r.oid = c.relowner
     where c.oid = to_regclass('${migrationsTable}') and not pg_has_role(c.relowner, 'usage')
     union all
     select quote_ident(r.rolname) from pg_database d join pg_roles r on r.oid = d.datdba
     join pg_roles s on s.rolname = '${serviceRole}' and pg_has_role(s.oid, 'member')
     where d.datname = current_database() and to_regclass('${migrationsTable}') is null
       and not pg_has_role(d.datdba, 'usage')`,
  )
  return rows[0]?.owner ?? null
}
