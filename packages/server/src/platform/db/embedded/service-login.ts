import type { Account } from './account.ts'
import type { Binaries } from './binaries.ts'
import { DATABASE, runSingleUser } from './cluster.ts'

/**
 * The login of the service and of every command. It owns the database and its contents, but is no superuser: an attacker with
 * its connection cannot run programs, read files or change other roles.
 */
export const SERVICE_USER = 'keyrail_service'

/** The role that each request drops to. It is made here, because only a superuser can make the role. */
const APP_ROLE = 'keyrail_app'

const makeRole = (name: string) =>
  `DO $$ BEGIN CREATE ROLE ${name}; EXCEPTION WHEN duplicate_object THEN NULL; END $$`

/**
 * Makes the login, or removes excess rights from an existing one. Each statement is one line, as single-user
 * mode needs, and may run again.
 *
 * @param password in letters that need no quoting
 */
export const loginStatements = (password: string): string[] => [
  makeRole(APP_ROLE),
  `ALTER ROLE ${APP_ROLE} NOLOGIN NOINHERIT NOSUPERUSER`,
  makeRole(SERVICE_USER),
  `ALTER ROLE ${SERVICE_USER} LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS PASSWORD '${password}'`,
  `GRANT ${APP_ROLE} TO ${SERVICE_USER}`,
  `ALTER DATABASE ${DATABASE} OWNER TO ${SERVICE_USER}`,
]

/**
 * Gives everything in the database that the superuser owns to the service. `REASSIGN OWNED` refuses that,
 * because the catalogues belong to the same superuser. What belongs to a table, a column or an extension follows
 * it.
 */
const giveOver = `DO $$ DECLARE command text; BEGIN FOR command IN ${[
  `SELECT format('SCHEMA %I', nspname) FROM pg_namespace WHERE nspowner = 10 AND nspname = 'graphile_worker'`,
  `SELECT format('%s %s', CASE relkind WHEN 'S' THEN 'SEQUENCE' WHEN 'v' THEN 'VIEW' WHEN 'm' THEN 'MATERIALIZED VIEW' ELSE 'TABLE' END, c.oid::regclass)
     FROM pg_class c WHERE relowner = 10 AND relkind IN ('r', 'p', 'v', 'm', 'S') AND IN_OURS(relnamespace)
     AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype IN ('a', 'i', 'e'))`,
  `SELECT format('ROUTINE %s', p.oid::regprocedure) FROM pg_proc p WHERE proowner = 10 AND IN_OURS(pronamespace)
     AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e')`,
  `SELECT format('%s %s', CASE typtype WHEN 'd' THEN 'DOMAIN' ELSE 'TYPE' END, format_type(t.oid, NULL)) FROM pg_type t
     WHERE typowner = 10 AND typcategory <> 'A' AND IN_OURS(typnamespace)
     AND (typrelid = 0 OR (SELECT relkind FROM pg_class WHERE oid = typrelid) = 'c')
     AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_type'::regclass AND d.objid = t.oid AND d.deptype IN ('i', 'e'))`,
]
  .join(' UNION ALL ')
  .replaceAll(/IN_OURS\((\w+)\)/g, `$1::regnamespace::text IN ('public', 'graphile_worker')`)
  .replaceAll(
    /\s+/g,
    ' ',
  )} LOOP EXECUTE format('ALTER %s OWNER TO ${SERVICE_USER}', command); END LOOP; END $$`

/**
 * Makes the login on a stopped cluster from a release that only had the superuser, or whose password was lost.
 * If interrupted, it may run again.
 */
export function makeServiceLogin(
  dataDirectory: string,
  { password, ...options }: { binaries: Binaries; account: Account; password: string },
): void {
  runSingleUser(dataDirectory, [...loginStatements(password), giveOver], {
    ...options,
    sync: true,
    database: DATABASE,
  })
}
