import type pg from 'pg'

/** Every row of every table, as text. */
export type Dump = ReadonlyMap<string, readonly string[]>

export async function dumpDatabase(client: pg.Client): Promise<Dump> {
  const { rows: tables } = await client.query<{ name: string }>(
    `select format('%I.%I', n.nspname, c.relname) as name
     from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where c.relkind in ('r', 'm') and n.nspname not like 'pg\\_%' and n.nspname <> 'information_schema'
     order by name`,
  )
  const dump = new Map<string, string[]>()
  for (const { name } of tables) {
    const { rows } = await client.query<{ line: string }>(
      `select t::text as line from ${name} t order by t::text`,
    )
    dump.set(
      name,
      rows.map(({ line }) => line),
    )
  }
  return dump
}

/** A line for every row that only one of the two has. */
export function differences(before: Dump, after: Dump): string[] {
  const lines: string[] = []
  for (const table of new Set([...before.keys(), ...after.keys()])) {
    const old = before.get(table) ?? []
    const now = after.get(table) ?? []
    for (const row of old.filter(row => !now.includes(row))) lines.push(`${table} lost ${row}`)
    for (const row of now.filter(row => !old.includes(row))) lines.push(`${table} got ${row}`)
    if (old.length !== now.length) lines.push(`${table} has ${now.length} rows, it had ${old.length}`)
  }
  return lines
}
