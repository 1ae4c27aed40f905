/**
 * The columns of a table that a statement may write, quoted and separated by commas: all but generated ones. For tests that
 * copy rows.
 */
export async function writtenColumns(
  query: (text: string, values: unknown[]) => Promise<{ columns: string }[]>,
  table: string,
): Promise<string> {
  const [row] = await query(
    `select string_agg(quote_ident(attname), ', ' order by attnum) as columns from pg_attribute
     where attrelid = $1::regclass and attnum > 0 and not attisdropped and attgenerated = ''`,
    [table],
  )
  if (row === undefined) throw new Error(`${table} has no columns`)
  return row.columns
}
