import type pg from 'pg'
import { jobSchema } from '../../jobs/job-queue.ts'

/** A table that differs from what the migrations made, and the statement that repairs it. */
export interface FaultyTable {
  readonly table: string
  readonly fix: string
}

/** Takes the attributes that bypass row-level security from the role of the service. */
export const bypassFix = 'alter role keyrail_app nosuperuser nobypassrls;'

/** Row-level security that is off or forced, and whether the role of the service bypasses it. */
export async function readRowSecurityFaults(client: pg.ClientBase, secured: readonly string[]) {
  const { rows: tables } = await client.query<FaultyTable>(
    `select relname as table, format('alter table %I %s row level security;', relname,
       case when relrowsecurity then 'no force' else 'enable' end) as fix
     from pg_class where relnamespace = 'public'::regnamespace and relname = any($1)
       and (not relrowsecurity or relforcerowsecurity) order by relname`,
    [secured],
  )
  const { rows: roles } = await client.query(
    `select from pg_roles where rolname = 'keyrail_app' and (rolsuper or rolbypassrls)`,
  )
  return { tables, isBypassed: roles.length > 0 }
}

/** Triggers that are off, and whether the session is one in which no trigger fires. */
export async function readTriggerFaults(client: pg.ClientBase, all: readonly string[]) {
  const { rows: tables } = await client.query<FaultyTable>(
    `select relname as table, format('alter table %I enable trigger all;', relname) as fix
     from pg_class c where relnamespace = 'public'::regnamespace and relname = any($1)
       and exists (select from pg_trigger where tgrelid = c.oid and tgenabled in ('D', 'R')) order by relname`,
    [all],
  )
  const { rows: sessions } = await client.query(
    `select from pg_settings where name = 'session_replication_role' and setting = 'replica'`,
  )
  return { tables, isReplica: sessions.length > 0 }
}

/** Tables without autovacuum, with their TOAST tables, and the settings of the server that turn it off. */
export async function readAutovacuumFaults(client: pg.ClientBase, all: readonly string[]) {
  const { rows: settings } = await client.query<{ setting: string }>(
    `select name as setting from pg_settings where name in ('autovacuum', 'track_counts') and setting = 'off' order by name`,
  )
  const { rows: tables } = await client.query<FaultyTable>(
    `select c.relname as table,
       format('alter table %s reset (%sautovacuum_enabled);', c.oid::regclass, case when o.oid = c.oid then '' else 'toast.' end) as fix
     from pg_class c join pg_class o on o.oid in (c.oid, c.reltoastrelid) cross join pg_options_to_table(o.reloptions) as set
     where (c.relnamespace = 'public'::regnamespace and c.relname = any($1) or c.relnamespace = to_regnamespace($2))
       and set.option_name = 'autovacuum_enabled' and not set.option_value::boolean order by c.relname`,
    [all, jobSchema],
  )
  return { tables, settings: settings.map(({ setting }) => setting) }
}
