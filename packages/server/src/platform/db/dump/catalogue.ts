import type pg from 'pg'
import { migrationsTable } from '../migrate/table.ts'
import { type DumpSequence, type DumpTable, tableName } from './format.ts'

/** The contents of the schema `public`, from the catalogue: tables of later migrations are included automatically. */
export type CatalogueTable = Omit<DumpTable, 'rows'>

/** Tables of an extension come back with the extension. */
const notOfExtension = `not exists (
  select from pg_depend d where d.classid = 'pg_class'::regclass and d.objid = c.oid and d.deptype = 'e')`

const tables = `
  select c.relname::text as name, array(
      select a.attname::text from pg_attribute a
      where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
      order by a.attnum) as columns
  from pg_class c
  where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
    and c.relname <> $1 and ${notOfExtension}
  order by c.relname`

/** Foreign keys that need an order. Deferrable ones are checked at the end, and a row may refer to its own table. */
const references = `
  select child.relname::text as child, parent.relname::text as parent
  from pg_constraint k
  join pg_class child on child.oid = k.conrelid
  join pg_class parent on parent.oid = k.confrelid
  where k.contype = 'f' and not k.condeferrable and child.oid <> parent.oid
    and child.relnamespace = 'public'::regnamespace and parent.relnamespace = 'public'::regnamespace`

const sequences = `
  select c.relname::text as name from pg_class c
  where c.relnamespace = 'public'::regnamespace and c.relkind = 'S' and ${notOfExtension}
    and not exists (
      select from pg_depend d where d.classid = 'pg_class'::regclass and d.objid = c.oid
        and d.refclassid = 'pg_class'::regclass and d.refobjid = to_regclass($1))
  order by c.relname`

/** Tables with data, except the migrations table, each after the tables that its foreign keys refer to. */
export async function listTables(client: pg.ClientBase): Promise<CatalogueTable[]> {
  const { rows } = await client.query<CatalogueTable>(tables, [migrationsTable])
  const { rows: pairs } = await client.query<{ child: string; parent: string }>(references)
  return parentsFirst(rows, pairs)
}

/** @throws if tables refer to each other in a circle: one of the foreign keys must be deferrable. */
export function parentsFirst<T extends { name: string }>(
  all: readonly T[],
  pairs: readonly { child: string; parent: string }[],
): T[] {
  const ordered: T[] = []
  let left = [...all]
  while (left.length > 0) {
    const waiting = new Set(left.map(table => table.name))
    const free = left.filter(
      ({ name }) => !pairs.some(({ child, parent }) => child === name && waiting.has(parent)),
    )
    if (free.length === 0) throw new Error(`foreign keys in a circle: ${[...waiting].join(', ')}`)
    ordered.push(...free)
    left = left.filter(table => !free.includes(table))
  }
  return ordered
}

/** Sequences and their positions, except the migrations table's. */
export async function readSequences(client: pg.ClientBase): Promise<DumpSequence[]> {
  const { rows } = await client.query<{ name: string }>(sequences, [migrationsTable])
  const found: DumpSequence[] = []
  for (const { name } of rows) {
    const { rows: at } = await client.query(
      `select last_value::text as "lastValue", is_called as "isCalled" from ${tableName(name)}`,
    )
    found.push({ name, ...at[0] })
  }
  return found
}
