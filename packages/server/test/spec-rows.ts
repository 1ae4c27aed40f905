import { readFileSync } from 'node:fs'

/**
 * The endpoint rows of the specification, copied by hand into `spec-rows.json` in its own words (`integer 1 to
 * 200, default 50`), and parsed here into JSON Schema. Nothing here comes from the service, so a test can
 * compare the two.
 */
export type Fragment = { type?: string | string[]; enum?: unknown[] } & Record<string, unknown>

export interface Field {
  schema: Fragment
  required: boolean
}

export interface SpecRow {
  method: string
  path: string
  plane: string
  /** The kinds of credentials that the route accepts; empty for a route without credentials. */
  credentials: string[]
  status: number
  query: Record<string, Field>
  body: Record<string, Field>
  /** Whether the service has the route already. */
  served: boolean
}

interface WrittenRow extends Pick<SpecRow, 'plane' | 'credentials' | 'status' | 'served'> {
  route: string
  query?: Record<string, string>
  body?: Record<string, string>
}

const written: { types: Record<string, Fragment>; rows: WrittenRow[] } = JSON.parse(
  readFileSync(new URL('spec-rows.json', import.meta.url), 'utf8'),
)

/** Parses `<type>[ or null][, required][, default <value>]`, where the type is a name or words with bounds. */
export function readField(words: string): Field {
  const [type = '', ...notes] = words.split(', ')
  const schema = type.endsWith(' or null') ? orNull(readType(type.slice(0, -8))) : readType(type)
  let required = false
  for (const note of notes) {
    if (note === 'required') required = true
    else if (note.startsWith('default ')) schema.default = readDefault(note.slice(8))
    else throw new Error(`"${words}": what is "${note}"?`)
  }
  return { schema, required }
}

function readType(words: string): Fragment {
  const named = written.types[words]
  if (named !== undefined) return structuredClone(named)
  if (words === 'true or false') return { type: 'string', enum: ['true', 'false'] }
  const [, type = '', from, to, least] =
    /^(string|integer|number) (?:(\d+) to (\d+)|at least (\d+))$/.exec(words) ?? []
  if (type === '') throw new Error(`"${words}" is not a type of the specification`)
  const [lower, upper] = type === 'string' ? ['minLength', 'maxLength'] : ['minimum', 'maximum']
  return { type, [lower]: Number(from ?? least), ...(to !== undefined && { [upper]: Number(to) }) }
}

const readDefault = (text: string) => (/^\d+$|^null$/.test(text) ? JSON.parse(text) : text)

const orNull = (schema: Fragment): Fragment => ({
  ...schema,
  type: [schema.type as string, 'null'],
  ...(schema.enum !== undefined && { enum: [...schema.enum, null] }),
})

const readFields = (fields: Record<string, string> = {}) =>
  Object.fromEntries(Object.entries(fields).map(([name, words]) => [name, readField(words)]))

export const specRows: SpecRow[] = written.rows.map(({ route, query, body, ...row }) => {
  const [method = '', path = ''] = route.split(' ')
  return { ...row, method, path, query: readFields(query), body: readFields(body) }
})
