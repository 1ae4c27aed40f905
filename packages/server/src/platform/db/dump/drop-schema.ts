import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { appliedMigrations, type MigrationSet } from '../migrate/migrate.ts'
import { migrationsTable } from '../migrate/table.ts'
import { DumpRefused } from './refused.ts'

/** The names in `create` statements of the migrations, of any kind. */
const created =
  /\bcreate\s+(?:or\s+replace\s+)?(?:unlogged\s+)?(?:table|view|materialized\s+view|function|procedure|type|domain|sequence)\s+(?:if\s+not\s+exists\s+)?(?:public\.)?"?(\w+)/gi

/** The names of everything that migrations make in the schema `public`. */
export const namesMade = ({ directory, names }: MigrationSet): string[] => [
  migrationsTable,
  ...names.flatMap(name =>
    [...readFileSync(join(directory, `${name}.sql`), 'utf8').matchAll(created)].map(match => match[1] ?? ''),
  ),
]

const droppable = `
  select 'table' as kind, format('public.%I', c.relname) as name from pg_class c
  where c.relnamespace = 'public'::regnamespace and c.relname = any($1) and c.relkind in ('r', 'p')
    and not c.relispartition
  union all
  select case c.relkind when 'v' then 'view' when 'm' then 'materialized view' else 'sequence' end,
    format('public.%I', c.relname) from pg_class c
  where c.relnamespace = 'public'::regnamespace and c.relname = any($1) and c.relkind in ('v', 'm', 'S')
  union all
  select 'routine', p.oid::regprocedure::text from pg_proc p
  where p.pronamespace = 'public'::regnamespace and p.proname = any($1)
  union all
  select 'type', format('public.%I', t.typname) from pg_type t
  where t.typnamespace = 'public'::regnamespace and t.typname = any($1)
    and (t.typtype in ('d', 'e', 'r') or t.typtype = 'c' and exists (
      select from pg_class c where c.oid = t.typrelid and c.relkind = 'c'))`

const dependedOn = '2BP01'

/**
 * Drops everything that our migrations have made, and nothing else, in the schema `public`.
 * @throws {DumpRefused} if something else depends on it, or the database is newer than this release.
 */
export async function dropSchema(client: pg.ClientBase, set: MigrationSet): Promise<void> {
  const unknown = (await appliedMigrations(client)).find(name => !set.names.includes(name))
  if (unknown !== undefined) {
    throw new DumpRefused(`The database has a schema that this Keyrail does not know (${unknown}).`)
  }
  const { rows } = await client.query<{ kind: string; name: string }>(droppable, [namesMade(set)])
  const tables = rows.filter(({ kind }) => kind === 'table').map(({ name }) => name)
  // Tables refer to each other, so one statement drops them all.
  let left = rows
    .filter(({ kind }) => kind !== 'table')
    .map(({ kind, name }) => `drop ${kind} if exists ${name}`)
  if (tables.length > 0) left.unshift(`drop table ${tables.join(', ')}`)
  while (left.length > 0) {
    const kept: string[] = []
    const reasons: string[] = []
    for (const drop of left) {
      const reason = await tryDrop(client, drop)
      if (reason === null) continue
      kept.push(drop)
      reasons.push(reason)
    }
    if (kept.length === left.length) {
      throw new DumpRefused(
        `The old schema cannot be dropped, because something else depends on it:\n${reasons[0]}`,
      )
    }
    left = kept
  }
}

/**
 * Drops one object, never with CASCADE.
 * @returns what still depends on the object, or null if it was dropped.
 */
async function tryDrop(client: pg.ClientBase, drop: string): Promise<string | null> {
  await client.query('savepoint try')
  try {
    await client.query(drop)
    await client.query('release savepoint try')
    return null
  } catch (error) {
    if (!(error instanceof pg.DatabaseError) || error.code !== dependedOn) throw error
    await client.query('rollback to savepoint try')
    return error.detail ?? error.message
  }
}
