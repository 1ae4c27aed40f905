import type { Account } from './account.ts'
import type { Binaries } from './binaries.ts'
import { DATABASE, runSingleUser } from './cluster.ts'

/**
 * The login of the service and of every command. It owns the database and what is in it, and is no superuser: whoever
 * takes the service over by its connection cannot run programs, read files or change other roles by it.
 */
export const SERVICE_USER = 'keyrail_service'

/** The role that each request drops to. A login that is no superuser cannot make it, so it is made beside. */
const APP_ROLE = 'keyrail_app'

const makeRole = (name: string) =>
  `DO $$ BEGIN CREATE ROLE ${name}; EXCEPTION WHEN duplicate_object THEN NULL; END $$`

/**
 * Makes the login, or takes from one that is there what it must not have. Each statement is one line, as single-user
 * mode wants it, and may run again.
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
 * Gives everything in the database that is the superuser's to the service. `REASSIGN OWNED` refuses to: the catalogues
 * are the same superuser's. What belongs to a table, a column or an extension follows that one.
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
 * Makes the login on a stopped cluster, one of a release that had only the superuser, or one whose password was lost.
 * Broken off anywhere, it may run again.
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
