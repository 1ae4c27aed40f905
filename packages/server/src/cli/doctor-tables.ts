import type pg from 'pg'
import { type DeclaredTables, readDeclaredTables } from '../platform/db/declared-tables.ts'
import { jobSchema } from '../platform/db/job-queue.ts'
import { type Check, orFault } from './doctor-check.ts'

/** Checks whether the tables still are what the migrations made of them. It reads the catalogue alone. */
export async function checkTables(client: pg.ClientBase): Promise<Check[]> {
  const declared = readDeclaredTables()
  return [
    await orFault('row security', () => checkRowSecurity(client, declared)),
    await orFault('triggers', () => checkTriggers(client, declared)),
    await orFault('autovacuum', () => checkAutovacuum(client, declared)),
  ]
}

/** Row-level security keeps workspaces apart where a statement forgets to. Forced, it hides rows from backups. */
async function checkRowSecurity(client: pg.ClientBase, { secured }: DeclaredTables): Promise<Check> {
  const name = 'row security'
  const { rows: odd } = await client.query<{ table: string; fix: string }>(
    `select relname as table, format('alter table %I %s row level security;', relname,
       case when relrowsecurity then 'no force' else 'enable' end) as fix
     from pg_class where relnamespace = 'public'::regnamespace and relname = any($1)
       and (not relrowsecurity or relforcerowsecurity) order by relname`,
    [[...secured]],
  )
  const { rows: roles } = await client.query(
    `select from pg_roles where rolname = 'keyrail_app' and (rolsuper or rolbypassrls)`,
  )
  const fixes = [
    ...(roles.length > 0 ? ['alter role keyrail_app nosuperuser nobypassrls;'] : []),
    ...odd.map(({ fix }) => fix),
  ]
  if (fixes.length === 0)
    return { name, status: 'ok', message: `keeps workspaces apart in ${secured.size} tables` }
  const found = [
    ...(roles.length > 0 ? ['keyrail_app bypasses it'] : []),
    ...(odd.length > 0 ? [`it was changed for ${namesOf(odd)}`] : []),
  ]
  return { name, status: 'fault', message: found.join('; '), todo: fixes.join('\n') }
}

/** Foreign keys are triggers too. Since Postgres 18 they can be turned off without their triggers being so. */
async function checkTriggers(client: pg.ClientBase, { all }: DeclaredTables): Promise<Check> {
  const name = 'triggers'
  const lost = 'rows that refer to nothing, and changes of the audit log, are not refused'
  const { rows: sessions } = await client.query(
    `select from pg_settings where name = 'session_replication_role' and setting = 'replica'`,
  )
  if (sessions.length > 0)
    return {
      name,
      status: 'fault',
      message: `session_replication_role is replica: ${lost}`,
      todo: 'Reset session_replication_role for this role and database.',
    }
  const { rows: off } = await client.query<{ table: string; fix: string }>(
    `select relname as table, format('alter table %I enable trigger all;', relname) as fix
     from pg_class c where relnamespace = 'public'::regnamespace and relname = any($1)
       and exists (select from pg_trigger where tgrelid = c.oid and tgenabled in ('D', 'R')) order by relname`,
    [[...all]],
  )
  if (off.length === 0) return { name, status: 'ok', message: 'foreign keys and other triggers are on' }
  const todo = `As a superuser, then look for rows that refer to nothing:\n${off.map(({ fix }) => fix).join('\n')}`
  return { name, status: 'fault', message: `off for ${namesOf(off)}: ${lost}`, todo }
}

/** Without it tables and indexes grow with every change, and plans go by old statistics. */
async function checkAutovacuum(client: pg.ClientBase, { all }: DeclaredTables): Promise<Check> {
  const name = 'autovacuum'
  const { rows: settings } = await client.query<{ setting: string }>(
    `select name as setting from pg_settings where name in ('autovacuum', 'track_counts') and setting = 'off' order by name`,
  )
  const { rows: off } = await client.query<{ table: string; fix: string }>(
    `select c.relname as table,
       format('alter table %s reset (%sautovacuum_enabled);', c.oid::regclass, case when o.oid = c.oid then '' else 'toast.' end) as fix
     from pg_class c join pg_class o on o.oid in (c.oid, c.reltoastrelid) cross join pg_options_to_table(o.reloptions) as set
     where (c.relnamespace = 'public'::regnamespace and c.relname = any($1) or c.relnamespace = to_regnamespace($2))
       and set.option_name = 'autovacuum_enabled' and not set.option_value::boolean order by c.relname`,
    [[...all], jobSchema],
  )
  const grows = 'tables grow with every change'
  if (settings.length > 0) {
    const names = settings.map(({ setting }) => setting)
    return {
      name,
      status: 'warning',
      message: `${names.join(' and ')} off: ${grows}`,
      todo: `Set ${names.map(setting => `${setting} = on`).join(', ')} in Postgres.`,
    }
  }
  if (off.length === 0) return { name, status: 'ok', message: 'on for every table' }
  const todo = off.map(({ fix }) => fix).join('\n')
  return { name, status: 'warning', message: `off for ${namesOf(off)}: ${grows}`, todo }
}

const namesOf = (rows: readonly { table: string }[]): string => rows.map(({ table }) => table).join(', ')
