import { patternEdges } from './edge-texts.ts'
import { edgesOf } from './edges.ts'
import type { Query } from './people.ts'
import { readField } from './spec-rows.ts'

/** Values, as SQL, at the bounds of a column and beyond. */

const text = (value: string) => `convert_from('\\x${Buffer.from(value).toString('hex')}', 'UTF8')`
const json = (value: unknown) => `${text(JSON.stringify(value))}::jsonb`
export const repeated = (count: number) => `repeat(U&'\\+01F600', ${count})`
export const strings = (count: number, each = `'x'`) => `array_fill(${each}::text, array[${count}])`

export interface Bound {
  column: string
  ok: string[]
  bad: string[]
}
export const bound = (column: string, ok: string[], bad: string[]): Bound => ({ column, ok, bad })
export const length = (column: string, least: number, most: number, nullable = true) =>
  bound(
    column,
    [repeated(least), repeated(most), ...(nullable ? ['null'] : [])],
    [repeated(least - 1), repeated(most + 1)],
  )
export const pattern = (column: string, expression: string) => {
  const { ok = [], bad = [] } = patternEdges[expression] ?? {}
  return bound(column, ok.map(text), bad.map(text))
}
export const among = (column: string, values: string[]) =>
  bound(column, values.map(text), [`''`, `'x'`, text(`${values[0]} `)])
export const word = (column: string, most: number, nullable = false) =>
  bound(
    column,
    [`'a'`, `'a_b'`, `repeat('a', ${most})`, ...(nullable ? ['null'] : [])],
    [`''`, `repeat('a', ${most + 1})`, `'A'`, `'_a'`, `'a1'`, `'a@b'`, `E'a\\n'`],
  )
/** The constraints of a table that adds up the requests of an environment. */
export const summed = (table: string): Record<string, Bound> => ({
  [`${table}_env`]: among('env', ['live', 'test']),
  [`${table}_requests_bounds`]: bound('requests', ['1e-9', '1', '1e30'], ['0', '-1']),
})
export const bytes = (column: string, count: number) =>
  bound(
    column,
    [`'\\x${'00'.repeat(count)}'`],
    [`''`, `'\\x${'00'.repeat(count - 1)}'`, `'\\x${'00'.repeat(count + 1)}'`],
  )
export const meta = (column: string) =>
  bound(
    column,
    [`'{}'`, `json_build_object('x', repeat('a', 65536 - 10))`],
    [`json_build_object('x', repeat('a', 65536 - 9))`, `'[]'`, `'null'`, `'"x"'`],
  )
/**
 * Edges of the specification's RateLimits. Only the contract checks the type of a rule's `id` and rejects
 * unknown members.
 */
const rules = edgesOf(readField('RateLimits').schema).filter(
  ({ value }) => !JSON.stringify(value).match(/"id":(?:5|true|\[|\{)|"unknown"/),
)
export const rateLimits = (column: string, nullable: boolean) =>
  bound(
    column,
    [...rules.filter(edge => edge.ok).map(({ value }) => json(value)), ...(nullable ? ['null'] : [])],
    rules.filter(edge => !edge.ok).map(({ value }) => json(value)),
  )

/**
 * The bounds of all tables. A function of the name of its constraint checks several, and names the one that a row breaks as a
 * constraint would.
 */
export async function readConstraints(query: Query): Promise<{ table: string; name: string }[]> {
  const checks: { table: string; name: string; body: string | null }[] = await query(`
    select c.relname as table, k.conname as name, p.prosrc as body
    from pg_constraint k join pg_class c on c.oid = k.conrelid left join pg_proc p on p.proname = k.conname
    where k.contype = 'c' and c.relnamespace = 'public'::regnamespace order by k.conname`)
  return checks.flatMap(({ table, name, body }) =>
    body === null
      ? [{ table, name }]
      : [...body.matchAll(/ then '(\w+)'/g)].map(([, broken]) => ({ table, name: `${table}_${broken}` })),
  )
}
