import type { Harness } from './harness.ts'

/**
 * Reads the schema as text from the catalogue: tables with columns and constraints, indexes, policies, grants
 * beyond the owner's, and functions. The text is the same on every supported version of Postgres and does not
 * depend on the order of creation.
 */
export async function schemaText(query: Harness['query']): Promise<string> {
  const tables = await query(tablesQuery)
  const parts: string[] = []
  for (const { oid, name, rls } of tables) {
    const columns = await query(columnsQuery, [oid])
    const constraints = await query(constraintsQuery, [oid])
    const indexes = await query(indexesQuery, [oid])
    const policies = await query(policiesQuery, [oid])
    const grants = await query(grantsQuery, [oid])
    parts.push(
      [
        `table ${name}${rls}`,
        ...columns.map(({ line }) => `  ${line}`),
        ...constraints.map(({ line }) => `  ${line}`),
        ...indexes.map(({ line }) => `  ${line}`),
        ...policies.map(({ line }) => `  ${line}`),
        ...grants.map(({ line }) => `  ${line}`),
      ].join('\n'),
    )
  }
  for (const { definition, grants } of await query(functionsQuery)) {
    parts.push(`${definition.trim()}\n  -- execute: ${grants}`)
  }
  return `${parts.join('\n\n')}\n`
}

const tablesQuery = `
  select oid, relname as name,
    case when relrowsecurity then ' row level security' else '' end
      || case when relforcerowsecurity then ' forced' else '' end as rls
  from pg_class where relkind in ('r', 'p') and relnamespace = 'public'::regnamespace order by relname`

const columnsQuery = `
  select format('%s %s%s%s', a.attname, format_type(a.atttypid, a.atttypmod),
    case when a.attnotnull then ' not null' else '' end,
    coalesce(' default ' || pg_get_expr(d.adbin, d.adrelid), '')) as line
  from pg_attribute a left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
  where a.attrelid = $1 and a.attnum > 0 and not a.attisdropped order by a.attnum`

/** Postgres 18 stores NOT NULL as a constraint and earlier versions do not; the columns show it. */
const constraintsQuery = `
  select format('constraint %s %s', conname, pg_get_constraintdef(oid)) as line
  from pg_constraint where conrelid = $1 and contype <> 'n' order by contype, conname`

const indexesQuery = `
  select pg_get_indexdef(indexrelid) as line from pg_index i
  where indrelid = $1 and not exists (select from pg_constraint c where c.conindid = i.indexrelid and c.conrelid = $1)
  order by 1`

const policiesQuery = `
  select format('policy %s %s for %s to %s using (%s) with check (%s)', polname,
    case when polpermissive then 'permissive' else 'restrictive' end, polcmd,
    (select string_agg(rolname, ', ' order by rolname) from pg_roles where oid = any(polroles)),
    pg_get_expr(polqual, polrelid), coalesce(pg_get_expr(polwithcheck, polrelid), 'the same')) as line
  from pg_policy where polrelid = $1 order by polname`

const grantsQuery = `
  select format('grant %s to %s', string_agg(lower(g.privilege_type), ', ' order by g.privilege_type),
    coalesce(r.rolname, 'public')) as line
  from pg_class c, aclexplode(c.relacl) g left join pg_roles r on r.oid = g.grantee
  where c.oid = $1 and g.grantee <> c.relowner group by r.rolname order by 1`

const functionsQuery = `
  select pg_get_functiondef(p.oid) as definition,
    coalesce((select string_agg(coalesce(r.rolname, 'public'), ', ' order by r.rolname)
      from aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) g left join pg_roles r on r.oid = g.grantee
      where g.grantee <> p.proowner), 'owner') as grants
  from pg_proc p where p.pronamespace = 'public'::regnamespace
  order by p.proname, pg_get_function_identity_arguments(p.oid)`
